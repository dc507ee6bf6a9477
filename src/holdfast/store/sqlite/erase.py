"""Erasing: lines of the log, and all that was made of them, in the caller's transaction.

A turn's line becomes a tombstone at the same place (log/tombstones.py), so that places in the log and in sessions stay
what they were. Acts that quote what was erased go or lose the quotation. The views are dropped: derived work makes them
anew of what is left, which is the only honest way to take a turn out of what was merged, replaced and counted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import apsw

from holdfast.errors import NotFound
from holdfast.log.compaction import pack_compaction, read_compaction
from holdfast.log.ids import new_id
from holdfast.log.tombstones import Marker, Tombstone, pack_tombstone, without
from holdfast.model import Action, Entry, Metadata
from holdfast.moments import from_micros
from holdfast.store.codes import ROLES
from holdfast.store.protocol import CLAIMS_A_TURN, COMPACTION, Scope, Space, Swept
from holdfast.store.sqlite.acts import insert_act
from holdfast.store.sqlite.ends import last_seq
from holdfast.store.sqlite.keys import NUMBER_MASK, SLOTS, number_of, place, vector_place
from holdfast.store.sqlite.tombs import marker_of
from holdfast.store.sqlite.views import clear_views

__all__ = ["Doomed", "DoomedTurn", "erase", "find_doomed"]

_WORD = re.compile(r"\w+")
_MANY = 500  # values of one IN list
_OF_TURN = (Space.TURN, Space.TOLD, Space.WINDOW)


@dataclass(frozen=True)
class DoomedTurn:
    seq: int
    id: str
    session: int
    session_name: str
    index: int
    role: int
    text: str
    at: int
    at_given: bool
    key: str | None
    metadata: str | None


@dataclass
class Doomed:
    """What an erase is about, found before anything is changed."""

    ns: int
    turns: list[DoomedTurn]
    records: dict[str, str] = field(default_factory=dict)
    """Id and text of records that come of the turns, or the record itself."""
    own: set[str] = field(default_factory=set)
    """Those of them whose id cannot come back: made by one of the turns, or by an act about it."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(turn.id for turn in self.turns)


def find_doomed(connection: apsw.Connection, namespace: str, scope: Scope, noun: str) -> Doomed:
    """NotFound if there is no such namespace, session, turn or record."""
    row = connection.execute("SELECT ns FROM namespaces WHERE name = ?", (namespace,)).fetchone()
    if row is None:
        raise NotFound(f"there is nothing of the namespace {namespace!r} in this store")
    ns = _int(row[0])
    if scope is Scope.RECORD:
        record = connection.execute("SELECT text FROM records WHERE ns = ? AND id = ?", (ns, noun)).fetchone()
        if record is None:
            raise NotFound(f"there is no record {noun!r} in this namespace")
        return Doomed(ns, [], {noun: str(record[0])}, {noun})
    doomed = Doomed(ns, _turns(connection, ns, scope, noun))
    if scope is Scope.TURN and not doomed.turns:
        raise NotFound(f"there is no turn {noun!r} in this namespace")
    if (
        scope is Scope.SESSION
        and not connection.execute("SELECT 1 FROM sessions WHERE ns = ? AND name = ?", (ns, noun)).fetchone()
    ):
        raise NotFound(f"there is no session {noun!r} in this namespace")
    _find_records(connection, doomed, everything=scope is Scope.NAMESPACE)
    return doomed


def _turns(connection: apsw.Connection, ns: int, scope: Scope, noun: str) -> list[DoomedTurn]:
    where, values = {
        Scope.NAMESPACE: ("log.ns = ?", (ns,)),
        Scope.SESSION: ("log.ns = ? AND sessions.name = ?", (ns, noun)),
        Scope.TURN: ("log.ns = ? AND log.id = ?", (ns, noun)),
    }[scope]
    rows = connection.execute(
        f"""SELECT log.pos, log.id, log.session, sessions.name, log.idx, log.role, log.text, log.at, log.at_given,
                   log.key, log.metadata
            FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
            WHERE {where} AND log.entry = 'turn' ORDER BY log.pos""",
        values,
    ).fetchall()
    return [
        DoomedTurn(
            number_of(_int(pos)), str(noun_id), _int(session), str(name), _int(index), _int(role), str(text),
            _int(at), bool(at_given), None if key is None else str(key), None if metadata is None else str(metadata),
        )
        for pos, noun_id, session, name, index, role, text, at, at_given, key, metadata in rows
    ]  # fmt: skip


def _find_records(connection: apsw.Connection, doomed: Doomed, everything: bool) -> None:
    ns = doomed.ns
    if everything:
        rows = connection.execute("SELECT id, text FROM records WHERE ns = ?", (ns,)).fetchall()
        doomed.records |= {str(noun): str(text) for noun, text in rows}
        doomed.own |= doomed.records.keys()
        return
    seqs = {turn.seq for turn in doomed.turns}
    for seq in seqs:
        rows = connection.execute(
            """SELECT records.id, records.text, records.born, records.metadata FROM sources
                JOIN records ON records.pos = ?1 | sources.record
                WHERE sources.ns = ?2 AND sources.turn = ?3""",
            (place(ns, 0), ns, seq),
        ).fetchall()
        for noun, text, born, metadata in rows:
            doomed.records[str(noun)] = str(text)
            if born in seqs or COMPACTION in str(metadata):
                doomed.own.add(str(noun))


def erase(connection: apsw.Connection, namespace: str, scope: Scope, noun: str, at: datetime) -> Swept:
    doomed = find_doomed(connection, namespace, scope, noun)
    return _Erasing(connection, doomed, marker_of(connection, namespace), at).run(scope, noun)


class _Erasing:
    def __init__(self, connection: apsw.Connection, doomed: Doomed, marker: Marker, at: datetime) -> None:
        self._connection = connection
        self._doomed = doomed
        self._ns = doomed.ns
        self._marker = marker
        self._at = at
        self._end = last_seq(connection, doomed.ns)
        """No line gets a place that another one had."""
        self._acts = self._digests = 0
        self._bared: dict[str, list[str]] = defaultdict(list)

    def run(self, scope: Scope, noun: str) -> Swept:
        still_said = self._sources(noun) if scope is Scope.RECORD else ()
        hidden = self._forgotten_with_others()
        for turn in self._doomed.turns:
            self._bury(turn)
        emptied = self._emptied(scope, noun)
        self._drop_vectors()
        if scope is Scope.NAMESPACE:
            self._drop_acts()
        else:
            self._clean_acts(scope, noun, emptied)
            self._clean_proposals()
            self._refuse(hidden)
            if scope is Scope.RECORD:
                self._bury_record(noun, still_said)
        for number in emptied.values():
            self._connection.execute("DELETE FROM sessions WHERE ns = ? AND session = ?", (self._ns, number))
        self._tell(scope, len(emptied))
        clear_views(self._connection, self._ns)
        self._connection.executemany(
            "DELETE FROM retrievals WHERE ns = ? AND subject = ?", [(self._ns, one) for one in self._doomed.own]
        )
        if scope is Scope.NAMESPACE:
            self._drop_name()
        self._connection.execute("INSERT OR IGNORE INTO unswept VALUES (0)")
        bared = {session: tuple(dict.fromkeys(ids)) for session, ids in self._bared.items() if ids}
        return Swept(
            len(self._doomed.turns), len(self._doomed.records), self._acts, len(emptied), self._digests, bared,
            still_said,
        )  # fmt: skip

    # --- turns

    def _bury(self, turn: DoomedTurn) -> None:
        """The turn's line says from now on that one was erased here."""
        role, name = ROLES[turn.role], turn.session_name
        tombstone = Tombstone(
            self._marker.noun(turn.id),
            self._marker.session(name),
            turn.index,
            role,
            self._marker.said(name, role, turn.text),
            self._marker.timed(name, role, turn.text, from_micros(turn.at)) if turn.at_given else None,
            None if turn.key is None else self._marker.key(name, turn.key),
        )
        self._put(turn.seq, tombstone)

    def _put(self, seq: int, tombstone: Tombstone) -> None:
        self._connection.execute("DELETE FROM log WHERE pos = ?", (place(self._ns, seq),))
        act = Action(Entry.ERASE, tombstone.id, self._at, pack_tombstone(tombstone))
        insert_act(self._connection, self._ns, seq, act, self._at)

    def _emptied(self, scope: Scope, noun: str) -> dict[str, int]:
        """Sessions of which no turn is left: their names go."""
        sessions = {turn.session_name: turn.session for turn in self._doomed.turns}
        rows: Sequence[tuple[object, ...]] = ()
        if scope is Scope.NAMESPACE:
            rows = self._connection.execute("SELECT name, session FROM sessions WHERE ns = ?", (self._ns,)).fetchall()
        elif scope is Scope.SESSION:
            rows = self._connection.execute(
                "SELECT name, session FROM sessions WHERE ns = ? AND name = ?", (self._ns, noun)
            ).fetchall()
        sessions |= {str(name): _int(number) for name, number in rows}
        return {
            name: number
            for name, number in sessions.items()
            if not self._connection.execute(
                "SELECT 1 FROM log WHERE ns = ? AND session = ? AND entry = 'turn' LIMIT 1", (self._ns, number)
            ).fetchone()
        }

    def _drop_vectors(self) -> None:
        """Vectors of the turns, of their passages, and of what admission read out of turns that answered them."""
        first, last = place(self._ns, 0), place(self._ns + 1, 0) - 1
        seqs = {turn.seq for turn in self._doomed.turns}
        cuts = self._connection.execute("SELECT pos, turn FROM passages WHERE pos BETWEEN ? AND ?", (first, last))
        passages = [_int(pos) for pos, turn in cuts.fetchall() if turn in seqs]
        self._connection.executemany("DELETE FROM passages WHERE pos = ?", [(pos,) for pos in passages])
        spans = [(space, seq, seq) for space in _OF_TURN for seq in seqs]
        spans += [(Space.PASSAGE, number_of(pos), number_of(pos)) for pos in passages]
        heirs = self._later_turns()
        spans += [(Space.CLAIM, seq * CLAIMS_A_TURN, (seq + 1) * CLAIMS_A_TURN - 1) for seq in seqs | heirs]
        self._connection.executemany(
            "DELETE FROM vectors WHERE pos BETWEEN ? AND ?",
            [
                (vector_place(self._ns, slot, space, low), vector_place(self._ns, slot, space, high))
                for slot in self._slots()
                for space, low, high in spans
            ],
        )

    def _slots(self) -> list[int]:
        rows = self._connection.execute("SELECT slot FROM models WHERE ns = ?", (self._ns,)).fetchall()
        return [_int(slot) for (slot,) in rows]

    def _later_turns(self) -> set[int]:
        """A turn that answers an erased one may have been read with its words ("yes, that is right")."""
        firsts: dict[int, int] = {}
        for turn in self._doomed.turns:
            firsts[turn.session] = min(turn.index, firsts.get(turn.session, turn.index))
        later: set[int] = set()
        for session, index in firsts.items():
            rows = self._connection.execute(
                "SELECT pos FROM log WHERE ns = ? AND session = ? AND idx > ? AND entry = 'turn'",
                (self._ns, session, index),
            ).fetchall()
            later |= {number_of(_int(pos)) for (pos,) in rows}
        return later

    # --- acts

    def _drop_acts(self) -> None:
        """Of a namespace everything goes; what was remembered leaves a tombstone, so that no import brings it back."""
        rows = self._connection.execute(
            "SELECT pos, id, entry FROM log WHERE ns = ? AND entry NOT IN ('turn', 'erase')", (self._ns,)
        ).fetchall()
        self._acts = len(rows)
        for pos, noun, entry in rows:
            if entry == Entry.REMEMBER:
                self._put(number_of(_int(pos)), Tombstone(self._marker.noun(str(noun))))
            else:
                self._connection.execute("DELETE FROM log WHERE pos = ?", (pos,))
        for table in ("cursors", "models", "copies", "retrievals"):
            self._connection.execute(f"DELETE FROM {table} WHERE ns = ?", (self._ns,))
        for slot in range(SLOTS):
            for space in Space:
                first = vector_place(self._ns, slot, space, 0)
                self._connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, first + NUMBER_MASK))

    def _clean_acts(self, scope: Scope, noun: str, emptied: dict[str, int]) -> None:
        """Acts about what was erased go; others lose what they say of it."""
        gone = self._doomed.ids | self._doomed.own
        rows = self._connection.execute(
            "SELECT pos, id, entry, text FROM log WHERE ns = ? AND entry NOT IN ('turn', 'erase')", (self._ns,)
        ).fetchall()
        for pos, subject, entry, text in rows:
            if subject in gone and not (scope is Scope.RECORD and entry == Entry.REMEMBER):
                self._drop(pos)
            elif entry == Entry.COMPACT:
                self._clean_compaction(pos, json.loads(str(text)), gone, emptied, noun if scope is Scope.RECORD else "")
            elif any(one in str(text) for one in gone):  # a list of what the janitor looked at, for example
                self._rewrite(pos, _without_ids(json.loads(str(text)), gone))

    def _clean_compaction(
        self, pos: object, payload: Metadata, gone: frozenset[str], emptied: dict[str, int], record: str
    ) -> None:
        made = read_compaction(payload)
        if made.session in emptied:
            self._digests += len(made.told)
            self._drop(pos)
            return
        kept = tuple(one for one in made.told if one.id != record and not gone.intersection(one.turn_ids))
        for one in made.told:
            if one not in kept and one.id != record and one.whole:
                self._bared[made.session] += [turn_id for turn_id in one.turn_ids if turn_id not in gone]
        if len(kept) < len(made.told):
            self._digests += len(made.told) - len(kept)
            self._rewrite(pos, pack_compaction(replace(made, told=kept)))

    def _clean_proposals(self) -> None:
        """A model that was shown an erased turn may have used its words for another."""
        ids = self._doomed.ids
        for session, doomed in _by_session(self._doomed.turns).items():
            rows = self._connection.execute(
                "SELECT id, text FROM log WHERE ns = ? AND session = ? AND entry = 'turn'", (self._ns, session)
            ).fetchall()
            left = {str(noun): str(text) for noun, text in rows}
            heard = frozenset(word for text in left.values() for word in _words(text))
            words = frozenset(word for turn in doomed for word in _words(turn.text)) - heard
            for start in range(0, len(left), _MANY):
                part = list(left)[start : start + _MANY]
                lines = self._connection.execute(
                    f"""SELECT pos, text FROM log WHERE ns = ? AND id IN ({",".join("?" * len(part))})
                        AND entry <> 'turn' AND entry = 'propose'""",
                    (self._ns, *part),
                ).fetchall()
                for pos, text in lines:
                    said = json.loads(str(text))
                    if (kept := without(said, ids, words)) is not said:
                        self._rewrite(pos, kept)

    def _drop(self, pos: object) -> None:
        self._acts += 1
        self._connection.execute("DELETE FROM log WHERE pos = ?", (pos,))

    def _rewrite(self, pos: object, payload: object) -> None:
        self._connection.execute(
            "UPDATE log SET text = ? WHERE pos = ?",
            (json.dumps(payload, ensure_ascii=False), pos),
        )

    # --- records

    def _sources(self, noun: str) -> tuple[str, ...]:
        rows = self._connection.execute(
            f"""SELECT log.id FROM records
                JOIN sources ON sources.ns = records.ns AND sources.record = records.pos & {NUMBER_MASK}
                JOIN log ON log.pos = ?1 | sources.turn
                WHERE records.ns = ?2 AND records.id = ?3 ORDER BY log.pos""",
            (place(self._ns, 0), self._ns, noun),
        ).fetchall()
        return tuple(str(turn_id) for (turn_id,) in rows)

    def _bury_record(self, noun: str, sources: Sequence[str]) -> None:
        """Where it was remembered; else at the end, with the marks of all that was read as it."""
        row = self._connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = 'remember'", (self._ns, noun)
        ).fetchone()
        statements = [self._doomed.records[noun], *self._read_as(noun, sources)] if sources else []
        marks = tuple(dict.fromkeys(self._marker.statement(text) for text in statements))
        tombstone = Tombstone(self._marker.noun(noun), statements=marks)
        if row is not None:
            self._put(number_of(_int(row[0])), tombstone)
            return
        self._end += 1
        self._put(self._end, tombstone)

    def _read_as(self, noun: str, sources: Sequence[str]) -> list[str]:
        """The other wordings that were merged into a record, as the receipts of its turns tell."""
        said = []
        for turn_id in sources:
            rows = self._connection.execute(
                "SELECT details FROM receipts WHERE ns = ? AND subject = ? AND details IS NOT NULL", (self._ns, turn_id)
            ).fetchall()
            for (details,) in rows:
                told = json.loads(str(details))
                if told.get("record") == noun and "compared" in told:
                    said.append(str(told["compared"]["said"]))
        return said

    def _forgotten_with_others(self) -> list[str]:
        """What was forgotten as a record of an erased turn stays forgotten where another turn says it too."""
        texts = []
        for noun, text in self._doomed.records.items():
            row = self._connection.execute("SELECT 1 FROM hidden WHERE ns = ? AND subject = ?", (self._ns, noun))
            if self._doomed.turns and row.fetchone() and noun in self._doomed.own:
                texts.append(text)
        return texts

    def _refuse(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._end += 1
            mark = self._marker.statement(text)
            self._put(self._end, Tombstone(self._marker.noun(text), statements=(mark,)))

    # --- the end of it

    def _tell(self, scope: Scope, sessions: int) -> None:
        payload = {
            "what": "erase",
            "scope": scope.value,
            "turns": len(self._doomed.turns),
            "records": len(self._doomed.records),
            "acts": self._acts,
            "sessions": sessions,
            "digests": self._digests,
        }
        act = Action(Entry.ERASE, new_id("e", self._at), self._at, payload)
        insert_act(self._connection, self._ns, self._end + 1, act, self._at)

    def _drop_name(self) -> None:
        self._connection.execute("DELETE FROM namespaces WHERE ns = ?", (self._ns,))
        self._connection.execute("DELETE FROM cursors WHERE ns = ?", (self._ns,))
        self._connection.execute("INSERT OR REPLACE INTO nameless VALUES (?, ?)", (self._ns, self._marker.whole()))


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _by_session(turns: Sequence[DoomedTurn]) -> dict[int, list[DoomedTurn]]:
    found: dict[int, list[DoomedTurn]] = defaultdict(list)
    for turn in turns:
        found[turn.session].append(turn)
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _without_ids(value: object, ids: frozenset[str]) -> object:
    """A value of JSON without the list items and keys that are one of the ids."""
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if not (name in ids or (isinstance(one, str) and one in ids))}
        return {name: _without_ids(one, ids) for name, one in kept.items()}
    if isinstance(value, list):
        return [_without_ids(one, ids) for one in value if not (isinstance(one, str) and one in ids)]
    return value
