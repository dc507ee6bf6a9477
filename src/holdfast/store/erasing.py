"""Erasing, for every engine: lines of the log, and all that was made of them, in the caller's transaction.

A turn's line becomes a tombstone at the same place (log/tombstones.py), so that places in the log and in sessions stay
what they were. Acts that quote what was erased go or lose the quotation. The views are dropped: derived work makes them
anew of what is left, which is the only honest way to take a turn out of what was merged, replaced and counted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.log.compaction import pack_compaction, read_compaction
from holdfast.log.ids import new_id
from holdfast.log.tombstones import Tombstone, pack_tombstone, without
from holdfast.model import Action, Entry, Metadata
from holdfast.moments import from_micros
from holdfast.store.codes import ROLES
from holdfast.store.ground import Doomed, DoomedTurn, Ground, find_doomed
from holdfast.store.nouns import Scope, Swept

__all__ = ["erase"]

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
