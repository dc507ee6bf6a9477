"""Erasing: lines of the log and everything derived from them, in the caller's transaction.

The line of a turn becomes a tombstone at the same place (log/acts.py), so that places in the log and in sessions
stay the same. Acts that quote what was erased are deleted, or lose the quotation. The views are dropped and derived
again from what is left: the only reliable way to take a turn out of what was merged, replaced and counted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.errors import NotFound
from holdfast.log.acts import Tombstone, noted_turns, pack_compaction, pack_tombstone, read_compaction, without_erased
from holdfast.log.messages import act_digest, new_id
from holdfast.model import Action, Entry, Metadata, from_micros
from holdfast.store.lines import insert_acts
from holdfast.store.rows import ROLES, unpack_vectors
from holdfast.store.types import CLAIMS_PER_TURN, EraseContent, EraseCounts, Scope, Space, Transaction
from holdfast.store.writes import clear_views

_WORD = re.compile(r"\w+")
_TURNS = """SELECT log.seq, log.id, log.session, sessions.name, log.idx, log.role, log.text, log.at, log.at_given,
        log.key, log.metadata
    FROM log JOIN sessions ON sessions.ns = :ns AND sessions.session = log.session
    WHERE log.ns = :ns{where} AND log.entry = 'turn' ORDER BY log.seq"""
_WHERE = {Scope.NAMESPACE: "", Scope.SESSION: " AND sessions.name = :noun", Scope.TURN: " AND log.id = :noun"}
_SOURCES = """SELECT log.id FROM records
    JOIN sources ON sources.ns = :ns AND sources.record = records.num
    JOIN log ON log.ns = :ns AND log.seq = sources.turn
    WHERE records.ns = :ns AND records.id = :id ORDER BY log.seq"""
_TEXTS_IN = "SELECT log.id, log.text FROM log WHERE log.ns = :ns AND log.session = :session AND log.entry = 'turn'"
_REWRITE = "UPDATE log SET text = :text, digest = :digest WHERE log.ns = :ns AND log.seq = :seq"
_NUMBERED = "vectors.ns = :ns AND vectors.slot = :slot AND vectors.space = :space AND vectors.num IN :nums"


@dataclass(frozen=True)
class ErasedTurn:
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
class ErasePlan:
    """The rows that an erase is about, found before anything is changed."""

    turns: list[ErasedTurn]
    records: dict[str, str] = field(default_factory=dict)
    """Id and text of the records that come from the turns, or of the record itself."""
    own: set[str] = field(default_factory=set)
    """Those of them whose id cannot come back: made by one of the turns, or by an act about it."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(turn.id for turn in self.turns)

    @property
    def gone(self) -> frozenset[str]:
        return self.ids | self.own


def plan_erase(tx: Transaction, scope: Scope, noun: str) -> ErasePlan:
    """Raise NotFound if there is no such namespace, session, turn or record."""
    if not tx.is_named():
        raise NotFound(f"there is no namespace {tx.namespace!r} in this store")
    if scope is Scope.RECORD:
        text = tx.one("SELECT text FROM records WHERE ns = :ns AND id = :id", id=noun)
        if text is None:
            raise NotFound(f"there is no record {noun!r} in this namespace")
        return ErasePlan([], {noun: text}, {noun})
    values = {} if scope is Scope.NAMESPACE else {"noun": noun}
    rows = tx.rows(_TURNS.format(where=_WHERE[scope]), **values)
    plan = ErasePlan([ErasedTurn(*row) for row in rows])
    if scope is Scope.TURN and not plan.turns:
        raise NotFound(f"there is no turn {noun!r} in this namespace")
    if scope is Scope.SESSION and not _session_numbers(tx, noun):
        raise NotFound(f"there is no session {noun!r} in this namespace")
    if scope is Scope.NAMESPACE:
        plan.records = dict(tx.rows("SELECT id, text FROM records WHERE ns = :ns"))
        plan.own = set(plan.records)
        return plan
    seqs = {turn.seq for turn in plan.turns}
    for record, text, born, compacted in tx.rows(
        """SELECT records.id, records.text, records.born, records.compaction IS NOT NULL FROM sources
           JOIN records ON records.ns = :ns AND records.num = sources.record
           WHERE sources.ns = :ns AND sources.turn IN :seqs""",
        seqs=list(seqs),
    ):
        plan.records[record] = text
        if compacted or born in seqs:
            plan.own.add(record)
    for _, subject, entry, payload in _acts(tx) if plan.records else ():
        if entry == Entry.REMEMBER and plan.ids.intersection(noted_turns(json.loads(payload))):
            plan.own.add(subject)  # an agent's note says what the turn said
    return plan


def _session_numbers(tx: Transaction, name: str | None = None) -> dict[str, int]:
    """Return the number of the session of this name, or of all sessions."""
    if name is None:
        return dict(tx.rows("SELECT name, session FROM sessions WHERE ns = :ns"))
    return dict(tx.rows("SELECT name, session FROM sessions WHERE ns = :ns AND name = :name", name=name))


def _acts(tx: Transaction) -> list[tuple[int, str, str, str]]:
    """Return (place, subject, entry, payload) of every line that is neither a turn nor about an erase."""
    rows = tx.rows(
        """SELECT log.seq, log.id, log.entry, log.text FROM log
           WHERE log.ns = :ns AND log.entry <> 'turn' AND log.entry <> 'erase' ORDER BY log.seq"""
    )
    return [(seq, subject, entry, text) for seq, subject, entry, text in rows]


def erase(tx: Transaction, scope: Scope, noun: str, at: datetime) -> EraseCounts:
    """Erase a namespace, session, turn or record. The caller holds the views and the log."""
    return _Eraser(tx, plan_erase(tx, scope, noun), at).run(scope, noun)


class _Eraser:
    def __init__(self, tx: Transaction, plan: ErasePlan, at: datetime) -> None:
        self._tx = tx
        self._plan = plan
        self._marker = tx.marker
        self._at = at
        self._end = tx.hold_log()
        """No line gets a place that another one had."""
        self._acts = self._digests = 0
        self._bared: dict[str, list[str]] = defaultdict(list)

    def run(self, scope: Scope, noun: str) -> EraseCounts:
        tx, plan = self._tx, self._plan
        sources = tuple(turn_id for (turn_id,) in tx.rows(_SOURCES, id=noun)) if scope is Scope.RECORD else ()
        hidden = self._hidden_texts()
        self._put((turn.seq, self._tombstone_act(self._tombstone(turn))) for turn in plan.turns)
        emptied = self._emptied_sessions(scope, noun)
        self._drop_vectors()
        if scope is Scope.NAMESPACE:
            self._drop_acts()
        else:
            self._clean_acts(scope, noun, emptied)
            self._clean_proposals()
            self._refuse(hidden)
            if scope is Scope.RECORD:
                self._bury_record(noun, sources)
        for number in emptied.values():
            tx.execute("DELETE FROM sessions WHERE ns = :ns AND session = :session", session=number)
        self._report(scope, len(emptied))
        clear_views(tx)
        tx.execute("DELETE FROM retrievals WHERE ns = :ns AND subject IN :ids", ids=list(plan.own))
        if scope is Scope.NAMESPACE:
            tx.drop_name()
            tx.execute("DELETE FROM cursors WHERE ns = :ns")
        tx.note_unswept()
        bared = {session: tuple(dict.fromkeys(ids)) for session, ids in self._bared.items() if ids}
        return EraseCounts(len(plan.turns), len(plan.records), self._acts, len(emptied), self._digests, bared, sources)

    # --- lines

    def _put(self, lines: Iterable[tuple[int, Action]]) -> None:
        """Write acts at their places, instead of what was there."""
        every = list(lines)
        seqs = [seq for seq, _ in every]
        self._tx.execute("DELETE FROM log WHERE log.ns = :ns AND log.seq IN :seqs", seqs=seqs)
        insert_acts(self._tx, [(seq, action, action.at) for seq, action in every])
        if every and max(seqs) > self._tx.hold_log():
            self._tx.move_end(max(seqs))

    def _drop_line(self, seq: int) -> None:
        self._tx.execute("DELETE FROM log WHERE log.ns = :ns AND log.seq = :seq", seq=seq)

    def _rewrite(self, seq: int, payload: object) -> None:
        text = json.dumps(payload, ensure_ascii=False)
        self._tx.execute(_REWRITE, text=text, digest=act_digest(text), seq=seq)

    # --- turns

    def _tombstone(self, turn: ErasedTurn) -> Tombstone:
        role, name = ROLES[turn.role], turn.session_name
        return Tombstone(
            self._marker.noun(turn.id),
            self._marker.session(name),
            turn.index,
            role,
            self._marker.said(name, role, turn.text),
            self._marker.timed(name, role, turn.text, from_micros(turn.at)) if turn.at_given else None,
            None if turn.key is None else self._marker.key(name, turn.key),
        )

    def _tombstone_act(self, tombstone: Tombstone) -> Action:
        return Action(Entry.ERASE, tombstone.id, self._at, pack_tombstone(tombstone))

    def _emptied_sessions(self, scope: Scope, noun: str) -> dict[str, int]:
        """Return the sessions that have no turn left: their names are deleted."""
        sessions = {turn.session_name: turn.session for turn in self._plan.turns}
        if scope in (Scope.NAMESPACE, Scope.SESSION):
            sessions |= _session_numbers(self._tx, None if scope is Scope.NAMESPACE else noun)
        sql = "SELECT 1 FROM log WHERE log.ns = :ns AND log.session = :session AND log.entry = 'turn' LIMIT 1"
        return {name: number for name, number in sessions.items() if self._tx.row(sql, session=number) is None}

    def _drop_vectors(self) -> None:
        """Delete the vectors of the turns and their passages, and of what admission extracted from them."""
        seqs = {turn.seq for turn in self._plan.turns}
        passages = self._tx.rows(
            "SELECT passages.num FROM passages WHERE passages.ns = :ns AND passages.turn IN :turns", turns=list(seqs)
        )
        cuts = [num for (num,) in passages]
        self._tx.execute("DELETE FROM passages WHERE passages.ns = :ns AND passages.num IN :nums", nums=cuts)
        numbers = {space: list(seqs) for space in (Space.TURN, Space.STATEMENT, Space.WINDOW)}
        numbers |= {Space.PASSAGE: cuts, Space.CLAIM: _claims(seqs | self._later_turns())}
        for slot, space, nums in _by_slot(self._tx, numbers):
            self._tx.execute(f"DELETE FROM vectors WHERE {_NUMBERED}", slot=slot, space=int(space), nums=nums)

    def _later_turns(self) -> set[int]:
        """Return the turns after an erased one: an answer ("yes, that is right") may have been read with its words."""
        firsts: dict[int, int] = {}
        for turn in self._plan.turns:
            firsts[turn.session] = min(turn.index, firsts.get(turn.session, turn.index))
        sql = """SELECT log.seq FROM log
            WHERE log.ns = :ns AND log.session = :session AND log.idx > :index AND log.entry = 'turn'"""
        return {seq for session, index in firsts.items() for (seq,) in self._tx.rows(sql, session=session, index=index)}

    # --- acts

    def _drop_acts(self) -> None:
        """Delete all acts of a namespace. A remembered record leaves a tombstone, so that no import brings it back."""
        acts = _acts(self._tx)
        self._acts = len(acts)
        for seq, subject, entry, _ in acts:
            if entry == Entry.REMEMBER:
                self._put([(seq, self._tombstone_act(Tombstone(self._marker.noun(subject))))])
            else:
                self._drop_line(seq)
        for table in ("cursors", "models", "copies", "retrievals", "vectors"):
            self._tx.execute(f"DELETE FROM {table} WHERE {table}.ns = :ns")

    def _clean_acts(self, scope: Scope, noun: str, emptied: dict[str, int]) -> None:
        """Delete acts about what was erased; take it out of the others."""
        gone = self._plan.gone
        for seq, subject, entry, text in _acts(self._tx):
            if subject in gone and entry == Entry.REMEMBER:
                if scope is not Scope.RECORD:  # else its tombstone comes with more
                    self._acts += 1
                    self._put([(seq, self._tombstone_act(Tombstone(self._marker.noun(subject))))])
            elif subject in gone:
                self._drop_act(seq)
            elif entry == Entry.COMPACT:
                self._clean_compaction(seq, json.loads(text), gone, emptied, noun if scope is Scope.RECORD else "")
            elif any(one in text for one in gone):  # a list of what the janitor looked at, for example
                self._rewrite(seq, _without_ids(json.loads(text), gone))

    def _drop_act(self, seq: int) -> None:
        self._acts += 1
        self._drop_line(seq)

    def _clean_compaction(
        self, seq: int, payload: Metadata, gone: frozenset[str], emptied: dict[str, int], record: str
    ) -> None:
        made = read_compaction(payload)
        if made.session in emptied:
            self._digests += len(made.records)
            self._drop_act(seq)
            return
        kept = tuple(one for one in made.records if one.id != record and not gone.intersection(one.turn_ids))
        for one in made.records:
            if one not in kept and one.id != record and one.replaces_turns:
                self._bared[made.session] += [turn_id for turn_id in one.turn_ids if turn_id not in gone]
        if len(kept) < len(made.records):
            self._digests += len(made.records) - len(kept)
            self._rewrite(seq, pack_compaction(replace(made, records=kept)))

    def _clean_proposals(self) -> None:
        """Clean proposals for other turns: a model that was shown an erased turn may have used its words for them."""
        by_session = defaultdict[int, list[ErasedTurn]](list)
        for turn in self._plan.turns:
            by_session[turn.session].append(turn)
        for session, erased in by_session.items():
            left: dict[str, str] = dict(self._tx.rows(_TEXTS_IN, session=session))
            kept_words = frozenset(word for text in left.values() for word in _words(text))
            words = frozenset(word for turn in erased for word in _words(turn.text)) - kept_words
            proposals = self._tx.rows(
                """SELECT log.seq, log.text FROM log
                   WHERE log.ns = :ns AND log.id IN :ids AND log.entry <> 'turn' AND log.entry = 'propose'""",
                ids=list(left),
            )
            for seq, text in proposals:
                said = json.loads(text)
                if (kept := without_erased(said, self._plan.ids, words)) is not said:
                    self._rewrite(seq, kept)

    # --- records

    def _bury_record(self, noun: str, sources: Sequence[str]) -> None:
        """Put its tombstone where it was remembered, or at the end, with marks of every wording it was read from."""
        place = self._tx.one(
            """SELECT log.seq FROM log
               WHERE log.ns = :ns AND log.id = :id AND log.entry <> 'turn' AND log.entry = 'remember'""",
            id=noun,
        )
        statements = [self._plan.records[noun], *self._other_wordings(noun, sources)] if sources else []
        marks = tuple(dict.fromkeys(self._marker.statement(text) for text in statements))
        if place is None:
            self._end += 1
            place = self._end
        self._put([(place, self._tombstone_act(Tombstone(self._marker.noun(noun), statements=marks)))])

    def _other_wordings(self, noun: str, sources: Sequence[str]) -> list[str]:
        """Return the wordings that were merged into a record, from the receipts of its turns."""
        said = []
        sql = "SELECT details FROM receipts WHERE ns = :ns AND subject IN :ids AND details IS NOT NULL"
        for (details,) in self._tx.rows(f"{sql} ORDER BY subject, number", ids=list(sources)):
            decided = json.loads(details)
            if decided.get("record") == noun and "compared" in decided:
                said.append(str(decided["compared"]["said"]))
        return said

    def _hidden_texts(self) -> list[str]:
        """Return the texts of hidden records of the turns: they stay hidden if another turn says them too."""
        if not self._plan.turns:
            return []
        sql = "SELECT subject FROM hidden WHERE ns = :ns AND subject IN :ids"
        hidden = {subject for (subject,) in self._tx.rows(sql, ids=list(self._plan.own))}
        return [text for noun, text in self._plan.records.items() if noun in hidden]

    def _refuse(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._end += 1
            mark = self._marker.statement(text)
            self._put([(self._end, self._tombstone_act(Tombstone(self._marker.noun(text), statements=(mark,))))])

    def _report(self, scope: Scope, sessions: int) -> None:
        payload = {
            "what": "erase",
            "scope": scope.value,
            "turns": len(self._plan.turns),
            "records": len(self._plan.records),
            "acts": self._acts,
            "sessions": sessions,
            "digests": self._digests,
        }
        self._put([(self._end + 1, Action(Entry.ERASE, new_id("e", self._at), self._at, payload))])


def _claims(seqs: Iterable[int]) -> list[int]:
    """Return the numbers of the claims of turns."""
    return [seq * CLAIMS_PER_TURN + claim for seq in seqs for claim in range(CLAIMS_PER_TURN)]


def _by_slot(tx: Transaction, numbers: dict[Space, list[int]]) -> Iterator[tuple[int, Space, list[int]]]:
    for (slot,) in tx.rows("SELECT slot FROM models WHERE ns = :ns"):
        yield from ((slot, space, nums) for space, nums in numbers.items())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _without_ids(value: object, ids: frozenset[str]) -> object:
    """Return a value of JSON without the list items and keys that are one of the ids."""
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if not (name in ids or (isinstance(one, str) and one in ids))}
        return {name: _without_ids(one, ids) for name, one in kept.items()}
    if isinstance(value, list):
        return [_without_ids(one, ids) for one in value if not (isinstance(one, str) and one in ids)]
    return value


# --- For the proof of an erase: what it is about to destroy, and what stays.

_CLAIM_DIGEST_BYTES = 16
"""A claim's vector is stored behind the digest of its text (admit/proposals.py)."""


def read_content(tx: Transaction, scope: Scope, noun: str) -> EraseContent:
    """Return what an erase would destroy."""
    plan = plan_erase(tx, scope, noun)
    names = [*plan.gone, *(turn.key for turn in plan.turns if turn.key is not None)]
    if scope is Scope.NAMESPACE:
        names.append(tx.namespace)
    if scope in (Scope.NAMESPACE, Scope.SESSION):
        names += dict.fromkeys(turn.session_name for turn in plan.turns)
    texts = [turn.text for turn in plan.turns]
    texts += [text for turn in plan.turns if turn.metadata for text in _strings(json.loads(turn.metadata))]
    made = [*plan.records.values(), *_texts_of_acts(tx, plan, everything=scope is Scope.NAMESPACE)]
    return EraseContent(
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(made)),
        tuple(dict.fromkeys(names)),
        tuple(dict.fromkeys(_vectors(tx, plan))),
    )


def _texts_of_acts(tx: Transaction, plan: ErasePlan, everything: bool) -> list[str]:
    gone = plan.gone
    texts: list[str] = []
    for _, subject, entry, payload in _acts(tx):
        said = json.loads(payload)
        if entry == Entry.COMPACT:
            made = read_compaction(said).records
            texts += [one.text for one in made if everything or one.id in gone or gone.intersection(one.turn_ids)]
        elif everything or subject in gone:
            texts += _strings(said)
    return texts


def _vectors(tx: Transaction, plan: ErasePlan) -> Iterator[bytes]:
    seqs = [turn.seq for turn in plan.turns]
    rows = tx.rows("SELECT records.num FROM records WHERE records.ns = :ns AND records.id IN :ids", ids=list(plan.own))
    cuts = tx.rows("SELECT passages.num FROM passages WHERE passages.ns = :ns AND passages.turn IN :turns", turns=seqs)
    numbers = {
        Space.TURN: seqs,
        Space.STATEMENT: seqs,
        Space.CLAIM: _claims(seqs),
        Space.RECORD: [num for (num,) in rows],
        Space.PASSAGE: [num for (num,) in cuts],
    }
    for slot, space, nums in _by_slot(tx, numbers):
        stored = tx.rows(f"SELECT vectors.data FROM vectors WHERE {_NUMBERED}", slot=slot, space=int(space), nums=nums)
        yield from (_plain_vector(space, data) for (data,) in stored if data)


def _plain_vector(space: Space, stored: bytes) -> bytes:
    (vector,) = unpack_vectors([stored])
    return unpack_vectors([vector[_CLAIM_DIGEST_BYTES:] + b"h"])[0] if space is Space.CLAIM else vector


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []


def read_live_texts(tx: Transaction) -> Iterator[str]:
    """Return every text and name that the logs of all namespaces contain, and the ids of records of the others."""
    for one in tx.every():
        if one.namespace:
            yield one.namespace
        sql = "SELECT log.text, log.id, log.key, log.metadata FROM log WHERE log.ns = :ns AND log.seq >= 0"
        for row in one.stream(f"{sql} AND log.entry IN ('turn', 'remember')"):
            yield from (str(value) for value in row if value is not None)
        for table, column in (("sessions", "name"), ("models", "fingerprint"), ("copies", "path")):
            for (name,) in one.rows(f"SELECT {column} FROM {table} WHERE ns = :ns"):
                yield str(name)
        if one.namespace != tx.namespace:
            for (noun,) in one.stream("SELECT records.id FROM records WHERE records.ns = :ns"):
                yield str(noun)


def read_live_vectors(tx: Transaction) -> Iterator[bytes]:
    """Return the vectors, as float32, of documents that exist, of all namespaces."""
    for one in tx.every():
        turns = "SELECT log.seq FROM log WHERE log.ns = :ns AND log.seq >= 0 AND log.entry = 'turn'"
        live = {seq for (seq,) in one.rows(turns)}
        records = {num for (num,) in one.rows("SELECT records.num FROM records WHERE records.ns = :ns")}
        passages = {num for (num,) in one.rows("SELECT passages.num FROM passages WHERE passages.ns = :ns")}
        there = {Space.RECORD: records, Space.PASSAGE: passages}
        for space, num, data in one.stored_vectors():
            owner = num // CLAIMS_PER_TURN if space is Space.CLAIM else num
            if data and owner in there.get(space, live):
                yield _plain_vector(space, data)
