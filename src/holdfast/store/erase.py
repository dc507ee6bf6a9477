"""Erasing, for every engine: lines of the log, and all that was made of them, in the caller's transaction.

A turn's line becomes a tombstone at the same place (log/tombstones.py), so that places in the log and in sessions stay
what they were. Acts that quote what was erased go or lose the quotation. The views are dropped: derived work makes them
anew of what is left, which is the only honest way to take a turn out of what was merged, replaced and counted.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from holdfast.errors import NotFound
from holdfast.log.acts import pack_compaction, read_compaction
from holdfast.log.messages import new_id
from holdfast.log.tombstones import Marker, Tombstone, erased_turn, pack_tombstone, without
from holdfast.model import Action, Entry, Metadata, NewTurn, Turn
from holdfast.store.rows import ROLES, whole
from holdfast.store.types import CLAIMS_A_TURN, Content, Scope, Space, Swept
from holdfast.text.time import from_micros

# --- What an erase is about, and what it asks of an engine: plain reads and writes of a namespace, in one
# transaction.


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

    turns: list[DoomedTurn]
    records: dict[str, str] = field(default_factory=dict)
    """Id and text of records that come of the turns, or the record itself."""
    own: set[str] = field(default_factory=set)
    """Those of them whose id cannot come back: made by one of the turns, or by an act about it."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(turn.id for turn in self.turns)


class Ground(Protocol):
    """One namespace inside a transaction. Places are places in its log."""

    namespace: str

    @property
    def marker(self) -> Marker: ...
    def is_there(self) -> bool: ...
    def last_seq(self) -> int: ...
    def turns(self, scope: Scope, noun: str) -> list[DoomedTurn]: ...
    def has_session(self, name: str) -> bool: ...
    def record_text(self, noun: str) -> str | None: ...
    def records(self) -> dict[str, str]:
        """Id and text of all."""
        ...

    def records_of(self, seqs: Iterable[int]) -> list[tuple[str, str, int, bool]]:
        """(id, text, the line it was born at, whether a compaction made it) of records that come of these turns."""
        ...

    def sources(self, noun: str) -> tuple[str, ...]:
        """Ids of the turns a record came from."""
        ...

    def is_hidden(self, noun: str) -> bool: ...
    def acts(self) -> list[tuple[int, str, str, str]]:
        """(place, subject, entry, payload) of every line that is no turn and no tombstone."""
        ...

    def remembered_at(self, noun: str) -> int | None: ...
    def session_numbers(self, name: str | None) -> dict[str, int]:
        """The session of this name, or all of them."""
        ...

    def has_turns(self, session: int) -> bool: ...
    def turns_after(self, session: int, index: int) -> set[int]: ...
    def texts_of(self, session: int) -> dict[str, str]:
        """Id and text of the turns of a session."""
        ...

    def proposals_of(self, turn_ids: Sequence[str]) -> list[tuple[int, str]]:
        """(place, payload) of what a model proposed for these turns."""
        ...

    def receipts_of(self, noun: str) -> list[str]:
        """The details of its receipts."""
        ...

    def put(self, lines: Iterable[tuple[int, Action]]) -> None:
        """These acts at these places, whatever stood there."""
        ...

    def drop_line(self, seq: int) -> None: ...
    def rewrite(self, seq: int, payload: str) -> None: ...
    def drop_vectors(self, seqs: set[int], heirs: set[int]) -> None:
        """Those of these turns and their passages, and of what admission read out of them and of their heirs."""
        ...

    def drop_all_derived(self) -> None:
        """Cursors, models, copies, counts and vectors of the whole namespace."""
        ...

    def drop_session(self, session: int) -> None: ...
    def drop_counts(self, record_ids: Iterable[str]) -> None: ...
    def clear_views(self) -> None: ...
    def drop_name(self) -> None: ...
    def note_unswept(self) -> None: ...


def find_doomed(ground: Ground, scope: Scope, noun: str) -> Doomed:
    """NotFound if there is no such namespace, session, turn or record."""
    if not ground.is_there():
        raise NotFound(f"there is nothing of the namespace {ground.namespace!r} in this store")
    if scope is Scope.RECORD:
        text = ground.record_text(noun)
        if text is None:
            raise NotFound(f"there is no record {noun!r} in this namespace")
        return Doomed([], {noun: text}, {noun})
    doomed = Doomed(ground.turns(scope, noun))
    if scope is Scope.TURN and not doomed.turns:
        raise NotFound(f"there is no turn {noun!r} in this namespace")
    if scope is Scope.SESSION and not ground.has_session(noun):
        raise NotFound(f"there is no session {noun!r} in this namespace")
    if scope is Scope.NAMESPACE:
        doomed.records = ground.records()
        doomed.own = set(doomed.records)
        return doomed
    seqs = {turn.seq for turn in doomed.turns}
    for record, text, born, compacted in ground.records_of(seqs):
        doomed.records[record] = text
        if born in seqs or compacted:
            doomed.own.add(record)
    return doomed


_WORD = re.compile(r"\w+")


def erase(ground: Ground, scope: Scope, noun: str, at: datetime) -> Swept:
    return _Erasing(ground, find_doomed(ground, scope, noun), at).run(scope, noun)


class _Erasing:
    def __init__(self, ground: Ground, doomed: Doomed, at: datetime) -> None:
        self._ground = ground
        self._doomed = doomed
        self._marker = ground.marker
        self._at = at
        self._end = ground.last_seq()
        """No line gets a place that another one had."""
        self._acts = self._digests = 0
        self._bared: dict[str, list[str]] = defaultdict(list)

    def run(self, scope: Scope, noun: str) -> Swept:
        ground, doomed = self._ground, self._doomed
        still_said = ground.sources(noun) if scope is Scope.RECORD else ()
        hidden = self._forgotten_with_others()
        ground.put((turn.seq, self._tomb(self._buried(turn))) for turn in doomed.turns)
        emptied = self._emptied(scope, noun)
        ground.drop_vectors({turn.seq for turn in doomed.turns}, self._later_turns())
        if scope is Scope.NAMESPACE:
            self._drop_acts()
        else:
            self._clean_acts(scope, noun, emptied)
            self._clean_proposals()
            self._refuse(hidden)
            if scope is Scope.RECORD:
                self._bury_record(noun, still_said)
        for number in emptied.values():
            ground.drop_session(number)
        self._tell(scope, len(emptied))
        ground.clear_views()
        ground.drop_counts(doomed.own)
        if scope is Scope.NAMESPACE:
            ground.drop_name()
        ground.note_unswept()
        bared = {session: tuple(dict.fromkeys(ids)) for session, ids in self._bared.items() if ids}
        return Swept(len(doomed.turns), len(doomed.records), self._acts, len(emptied), self._digests, bared, still_said)

    # --- turns

    def _buried(self, turn: DoomedTurn) -> Tombstone:
        """The turn's line says from now on that one was erased here."""
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

    def _tomb(self, tombstone: Tombstone) -> Action:
        return Action(Entry.ERASE, tombstone.id, self._at, pack_tombstone(tombstone))

    def _emptied(self, scope: Scope, noun: str) -> dict[str, int]:
        """Sessions of which no turn is left: their names go."""
        sessions = {turn.session_name: turn.session for turn in self._doomed.turns}
        if scope is Scope.NAMESPACE:
            sessions |= self._ground.session_numbers(None)
        elif scope is Scope.SESSION:
            sessions |= self._ground.session_numbers(noun)
        return {name: number for name, number in sessions.items() if not self._ground.has_turns(number)}

    def _later_turns(self) -> set[int]:
        """A turn that answers an erased one may have been read with its words ("yes, that is right")."""
        firsts: dict[int, int] = {}
        for turn in self._doomed.turns:
            firsts[turn.session] = min(turn.index, firsts.get(turn.session, turn.index))
        later: set[int] = set()
        for session, index in firsts.items():
            later |= self._ground.turns_after(session, index)
        return later

    # --- acts

    def _drop_acts(self) -> None:
        """Of a namespace everything goes; what was remembered leaves a tombstone, so that no import brings it back."""
        acts = self._ground.acts()
        self._acts = len(acts)
        for seq, subject, entry, _ in acts:
            if entry == Entry.REMEMBER:
                self._ground.put([(seq, self._tomb(Tombstone(self._marker.noun(subject))))])
            else:
                self._ground.drop_line(seq)
        self._ground.drop_all_derived()

    def _clean_acts(self, scope: Scope, noun: str, emptied: dict[str, int]) -> None:
        """Acts about what was erased go; others lose what they say of it."""
        gone = self._doomed.ids | self._doomed.own
        for seq, subject, entry, text in self._ground.acts():
            if subject in gone and not (scope is Scope.RECORD and entry == Entry.REMEMBER):
                self._drop(seq)
            elif entry == Entry.COMPACT:
                self._clean_compaction(seq, json.loads(text), gone, emptied, noun if scope is Scope.RECORD else "")
            elif any(one in text for one in gone):  # a list of what the janitor looked at, for example
                self._rewrite(seq, _without_ids(json.loads(text), gone))

    def _clean_compaction(
        self, seq: int, payload: Metadata, gone: frozenset[str], emptied: dict[str, int], record: str
    ) -> None:
        made = read_compaction(payload)
        if made.session in emptied:
            self._digests += len(made.told)
            self._drop(seq)
            return
        kept = tuple(one for one in made.told if one.id != record and not gone.intersection(one.turn_ids))
        for one in made.told:
            if one not in kept and one.id != record and one.whole:
                self._bared[made.session] += [turn_id for turn_id in one.turn_ids if turn_id not in gone]
        if len(kept) < len(made.told):
            self._digests += len(made.told) - len(kept)
            self._rewrite(seq, pack_compaction(replace(made, told=kept)))

    def _clean_proposals(self) -> None:
        """A model that was shown an erased turn may have used its words for another."""
        ids = self._doomed.ids
        for session, doomed in _by_session(self._doomed.turns).items():
            left = self._ground.texts_of(session)
            heard = frozenset(word for text in left.values() for word in _words(text))
            words = frozenset(word for turn in doomed for word in _words(turn.text)) - heard
            for seq, text in self._ground.proposals_of(list(left)):
                said = json.loads(text)
                if (kept := without(said, ids, words)) is not said:
                    self._rewrite(seq, kept)

    def _drop(self, seq: int) -> None:
        self._acts += 1
        self._ground.drop_line(seq)

    def _rewrite(self, seq: int, payload: object) -> None:
        self._ground.rewrite(seq, json.dumps(payload, ensure_ascii=False))

    # --- records

    def _bury_record(self, noun: str, sources: Sequence[str]) -> None:
        """Where it was remembered; else at the end, with the marks of all that was read as it."""
        place = self._ground.remembered_at(noun)
        statements = [self._doomed.records[noun], *self._read_as(noun, sources)] if sources else []
        marks = tuple(dict.fromkeys(self._marker.statement(text) for text in statements))
        if place is None:
            self._end += 1
            place = self._end
        self._ground.put([(place, self._tomb(Tombstone(self._marker.noun(noun), statements=marks)))])

    def _read_as(self, noun: str, sources: Sequence[str]) -> list[str]:
        """The other wordings that were merged into a record, as the receipts of its turns tell."""
        said = []
        for turn_id in sources:
            for details in self._ground.receipts_of(turn_id):
                told = json.loads(details)
                if told.get("record") == noun and "compared" in told:
                    said.append(str(told["compared"]["said"]))
        return said

    def _forgotten_with_others(self) -> list[str]:
        """What was forgotten as a record of an erased turn stays forgotten where another turn says it too."""
        if not self._doomed.turns:
            return []
        return [
            text
            for noun, text in self._doomed.records.items()
            if noun in self._doomed.own and self._ground.is_hidden(noun)
        ]

    def _refuse(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._end += 1
            mark = self._marker.statement(text)
            self._ground.put([(self._end, self._tomb(Tombstone(self._marker.noun(text), statements=(mark,))))])

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
        self._ground.put([(self._end + 1, Action(Entry.ERASE, new_id("e", self._at), self._at, payload))])


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


# --- What was erased from a namespace, known again when it comes to it (log/tombstones.py), for every engine.


TOMB_COLUMNS = "seq, noun, session, idx, role, said, timed, key"


class Tombs(ABC):
    """Where nothing was erased, it costs the one look that found no marker to be needed."""

    def __init__(self, marker: Marker | None, namespace: str) -> None:
        self._marker = marker
        self._namespace = namespace

    def turn(self, turn: NewTurn, session: str, now: datetime) -> Turn | None:
        """The erased turn that this one is, by its key or, if its time was given, by role, text and time."""
        if self._marker is None:
            return None
        if turn.key is not None:
            found = self._by_key(self._marker.session(session), self._marker.key(session, turn.key))
        elif turn.at_given:
            mark = self._marker.timed(session, turn.role, turn.text, turn.at)
            found = self._by_time(self._marker.session(session), mark)
        else:
            return None
        return None if found is None else erased_turn(found[1], turn, self._namespace, session, found[0], now)

    def noun(self, noun_id: str) -> bool:
        """Whether a turn or record of this id was erased here."""
        return self._marker is not None and self._has_noun(self._marker.noun(noun_id))

    def stood_at(self, turn: NewTurn, session: str, index: int) -> bool:
        """Whether this very turn stood at this place of the session and was erased."""
        if self._marker is None:
            return False
        said = self._marker.said(session, turn.role, turn.text)
        return self._has_said(self._marker.session(session), index, said)

    @abstractmethod
    def _by_key(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None: ...
    @abstractmethod
    def _by_time(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None: ...
    @abstractmethod
    def _has_noun(self, mark: bytes) -> bool: ...
    @abstractmethod
    def _has_said(self, session: bytes, index: int, said: bytes) -> bool: ...


def read_tomb(row: tuple[object, ...]) -> tuple[int, Tombstone]:
    """A row of TOMB_COLUMNS, of a turn: its place in the log, and what stands there."""
    seq, noun, session, index, role, said, timed, key = row
    assert isinstance(seq, int) and isinstance(noun, bytes) and isinstance(session, bytes) and isinstance(said, bytes)
    assert isinstance(index, int) and isinstance(role, int)
    return seq, Tombstone(
        noun, session, index, ROLES[role], said, timed if isinstance(timed, bytes) else None,
        key if isinstance(key, bytes) else None,
    )  # fmt: skip


# --- What an erase is about to destroy, read for its proof, for every engine.


_DIGEST = 16  # bytes before the vector of a claim (admit/proposals.py)


def content_of(ground: Ground, doomed: Doomed, scope: Scope, vectors: Iterable[bytes]) -> Content:
    names = [*doomed.ids, *doomed.own, *(turn.key for turn in doomed.turns if turn.key is not None)]
    if scope is Scope.NAMESPACE:
        names.append(ground.namespace)
    if scope in (Scope.NAMESPACE, Scope.SESSION):
        names += dict.fromkeys(turn.session_name for turn in doomed.turns)
    texts = [turn.text for turn in doomed.turns]
    texts += [text for turn in doomed.turns if turn.metadata for text in _strings(json.loads(turn.metadata))]
    made = [*doomed.records.values(), *_acts_about(ground, doomed, everything=scope is Scope.NAMESPACE)]
    return Content(
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(made)),
        tuple(dict.fromkeys(names)),
        tuple(dict.fromkeys(vectors)),
    )


def _acts_about(ground: Ground, doomed: Doomed, everything: bool) -> list[str]:
    gone = doomed.ids | doomed.own
    texts: list[str] = []
    for _, subject, entry, payload in ground.acts():
        said = json.loads(payload)
        if entry == "compact":
            told = read_compaction(said).told
            texts += [one.text for one in told if everything or one.id in gone or gone.intersection(one.turn_ids)]
        elif everything or subject in gone:
            texts += _strings(said)
    return texts


def vector_spans(doomed: Doomed, records: Iterable[int]) -> list[tuple[Space, int, int]]:
    """(space, first, last number) of every vector of these turns and of the records of these numbers."""
    spans = [(Space.RECORD, num, num) for num in records]
    for turn in doomed.turns:
        spans += [(space, turn.seq, turn.seq) for space in (Space.TURN, Space.TOLD)]
        spans.append((Space.CLAIM, turn.seq * CLAIMS_A_TURN, (turn.seq + 1) * CLAIMS_A_TURN - 1))
    return spans


def plain_vector(space: Space, stored: bytes) -> bytes:
    """As float32; a claim's is kept behind the digest of its text, in half precision."""
    if space is not Space.CLAIM:
        return whole([stored])[0]
    return whole([whole([stored])[0][_DIGEST:] + b"h"])[0]


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []
