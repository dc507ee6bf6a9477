"""One namespace as it was at one moment: every read of the store."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from holdfast.log.acts import Line, Tombstone
from holdfast.log.messages import ALIGN_WINDOW, TurnPlace, digest, gap_behind
from holdfast.model import (
    Action,
    Decision,
    Entry,
    Kind,
    Metadata,
    NewTurn,
    Provenance,
    Record,
    Turn,
    from_micros,
    to_micros,
)
from holdfast.store import statements
from holdfast.store.health import models, odd_vectors, orphans
from holdfast.store.lines import has_tombstones, last_index
from holdfast.store.rows import (
    KINDS,
    TEXT_COLUMN,
    kind_number,
    lower_trust,
    read_document,
    read_heads,
    read_line,
    read_place,
    read_record,
    read_score,
    read_tombstone_row,
    read_turn,
    unpack_metadata,
    unpack_vectors,
    with_text,
)
from holdfast.store.types import (
    COMPACTION,
    EPOCH_STAGE,
    BlockRef,
    Counts,
    Document,
    Heads,
    IdleRecord,
    Move,
    RecordState,
    Row,
    SessionSpan,
    Space,
    Transaction,
)

_PAGE = 500
"""Turns that are read at once when all of them may be asked for."""
_OFTEN = 64
"""A text that a session has more often ("ok") says nothing about where a history belongs in it."""
_BESIDE = 4
"""Neighbours of a place that are read with it: such texts and system prompts may be among them."""
_MOST_ALIGNED = 5000
"""Turns of a history that are looked up one by one; for more, the whole session is read."""


class Snapshot:
    """One namespace as it was at one moment. Safe to use only in the thread and for the time it was opened for."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._postings: dict[tuple[int, str], list[tuple[int, bytes]]] = {}
        """Cached postings, by space and term."""
        self._held: dict[tuple[str, int], dict[int, bytes]] = {}
        """Vectors that hold_vectors() read, by model, space and number."""

    @property
    def namespace(self) -> str:
        return self._tx.namespace

    @cached_property
    def _heads(self) -> Heads:
        return read_heads([] if self._tx.is_missing() else self._tx.kept(statements.HEADS))

    def _has_no(self, kind: str) -> bool:
        """Return whether there is none of a kind, if that was read already; reading the rows is as fast as asking."""
        return "_heads" in self.__dict__ and kind not in self._heads.some

    # --- the log

    def end(self, space: Space = Space.TURN) -> int:
        """Return the highest number in use; of turns, the end of the log."""
        table, key = {Space.RECORD: ("records", "num"), Space.PASSAGE: ("passages", "num")}.get(space, ("log", "seq"))
        sql = f"SELECT max({table}.{key}) FROM {table} WHERE {table}.ns = :ns AND {table}.{key} >= 0"
        return int(self._tx.one(sql) or 0)

    def lines(self) -> Iterator[Line]:
        """Return the whole log in order, one line at a time."""
        where = "WHERE log.ns = :ns AND log.seq >= 0 ORDER BY log.seq"
        return map(read_line, self._tx.stream(f"{statements.LINES} {where}"))

    def line_counts(self) -> dict[str, int]:
        """Return the number of lines of each kind, by the name of the kind."""
        sql = "SELECT log.entry, count(*) FROM log WHERE log.ns = :ns AND log.seq >= 0 GROUP BY log.ns, log.entry"
        return dict(sorted(self._tx.rows(sql)))

    def acts(self, subject: str) -> list[Action]:
        """Return the acts about a turn, a record or a run, oldest first."""
        rows = self._tx.rows(
            """SELECT log.entry, log.id, log.at, log.text FROM log
               WHERE log.ns = :ns AND log.id = :subject AND log.entry <> 'turn' ORDER BY log.seq""",
            subject=subject,
        )
        return [_read_action(*row) for row in rows]

    def acts_of_kind(self, entry: Entry) -> list[Action]:
        """Return all acts of one kind, oldest first."""
        rows = self._tx.rows(
            """SELECT log.entry, log.id, log.at, log.text FROM log
               WHERE log.ns = :ns AND log.entry <> 'turn' AND log.entry = :entry ORDER BY log.seq""",
            entry=entry.value,
        )
        return [_read_action(*row) for row in rows]

    def proposals(self, turn_ids: Sequence[str]) -> dict[str, Metadata]:
        """Return what a chat model proposed for these turns, by turn."""
        sql = """SELECT log.id, log.text FROM log
            WHERE log.ns = :ns AND log.id IN :ids AND log.entry <> 'turn' AND log.entry = 'propose'"""
        return {turn_id: unpack_metadata(text) for turn_id, text in self._tx.rows(sql, ids=list(turn_ids))}

    # --- sessions

    def session_number(self, session: str) -> int | None:
        number = self._tx.one("SELECT session FROM sessions WHERE ns = :ns AND name = :name", name=session)
        return None if number is None else int(number)

    def sessions(self, limit: int, before: str | None = None) -> list[SessionSpan]:
        """Return a page of sessions, the most recent first; `before` names the last session of the previous page."""
        return [
            SessionSpan(name, turns, from_micros(first), from_micros(last))
            if turns
            else SessionSpan(name, 0, None, None)
            for name, turns, first, last in self._tx.rows(statements.SESSIONS, limit=limit, before=before)
        ]

    def last_index(self, session: str) -> int:
        """Return the highest index the session ever gave, -1 before its first turn; erased turns keep theirs."""
        return last_index(self._tx, self.session_number(session), session)

    def places(self, session: str, turns: Sequence[NewTurn] | None = None) -> list[TurnPlace]:
        """Return the places of a session, in order: all of them, or those that alignment with these turns needs.

        Those are the last ones and, of the others, those that say the same as one of the turns, with their
        neighbours. What is left out between them is one place that no turn is at.
        """
        number = self.session_number(session)
        if number is None:
            return []
        new = [turn for turn in turns or () if turn.key is None]
        # In a list without keys nobody asks which places have one.
        keyed = "log.key IS NOT NULL" if turns is None or len(new) < len(turns) else "0"

        def read(index: str, where: str, **values: object) -> dict[int, TurnPlace]:
            sql = statements.PLACES.format(keyed=keyed, index=index, where=where)
            return {place.index: place for place in map(read_place, self._tx.rows(sql, session=number, **values))}

        near, end = max(ALIGN_WINDOW, 2 * len(new)), self.last_index(session)
        if turns is None or end < near or len(new) > _MOST_ALIGNED:
            return [place for _, place in sorted(read("place", "idx >= 0").items())]
        marks = list({digest(turn.role, turn.text) for turn in new})
        counts = self._tx.rows(statements.SAID_COUNTS, session=number, marks=marks)
        if not counts:
            return []
        rare = [said for said, count in counts if count <= _OFTEN]
        found = read("digest", "digest IN :marks", marks=rare) if rare else {}
        asked = {at + step for at in found if at <= end - near for step in range(-_BESIDE, _BESIDE + 1)}
        found |= read("place", "idx IN :asked", asked=list(asked)) if asked else {}
        often = [said for said, count in counts if count > _OFTEN]
        times = [to_micros(turn.at) for turn in new if turn.at_given]
        if often and times:
            found |= read("digest", "digest IN :marks AND log.at IN :times", marks=often, times=times)
        found |= read("place", "idx > :after", after=end - near)
        return _with_gaps(found, asked.union(range(end - near + 1, end)))

    def numbers_before(self, session: int, index: int, limit: int) -> list[int]:
        """Return the numbers of the last turns of a session before an index, oldest first."""
        rows = self._tx.rows(
            """SELECT log.seq FROM log WHERE log.ns = :ns AND log.session = :session AND log.idx < :index
               AND log.entry = 'turn' ORDER BY log.idx DESC LIMIT :limit""",
            session=session,
            index=index,
            limit=limit,
        )
        return [seq for (seq,) in rows][::-1]

    # --- turns

    def turn(self, turn_id: str) -> Turn | None:
        return self.turns_by_id([turn_id]).get(turn_id)

    def turns_by_id(self, turn_ids: Sequence[str], chars: int | None = None) -> dict[str, Turn]:
        """Return turns by their id; with `chars`, with no more than the beginning of a text."""
        where = "WHERE log.ns = :ns AND log.id IN :ids AND log.entry = 'turn'"
        return {turn.id: turn for turn in self._turns(where, chars, "ids", 1, ids=list(turn_ids))}

    def turns(self, seqs: Sequence[int], chars: int | None = None) -> dict[int, Turn]:
        """Return turns by their place in the log; with `chars`, with no more than the beginning of a text."""
        where = "WHERE log.ns = :ns AND log.seq IN :seqs AND log.entry = 'turn'"
        return {turn.seq: turn for turn in self._turns(where, chars, "seqs", seqs=[int(seq) for seq in seqs])}

    def thread(self, session: str, after: int, limit: int, chars: int | None = None) -> list[Turn]:
        """Return the turns of a session behind an index, in order; `chars` as in `turns`."""
        where = f"WHERE log.ns = :ns AND {statements.IN_SESSION} AND log.idx > :after AND log.entry = 'turn'"
        return self._turns(f"{where} ORDER BY log.idx LIMIT :limit", chars, session=session, after=after, limit=limit)

    def ending(self, turn: Turn, chars: int) -> tuple[str, int]:
        """Return the end of a turn's text, without reading the rest of it, and the size of the text in bytes."""
        return self._tx.ending(turn.seq, chars)

    def passages(self, nums: Sequence[int]) -> list[str]:
        """Return passages by their number, in order; of their turns, only what comes before is read."""
        sql = """SELECT passages.num, passages.turn, passages.start, passages.stop
            FROM passages WHERE passages.ns = :ns AND passages.num IN :nums"""
        return [one.text for one in self._passages(sorted(self._tx.rows(sql, nums=[int(num) for num in nums])))]

    def recent_turns(
        self,
        limit: int,
        since: datetime | None = None,
        until: datetime | None = None,
        session: str | None = None,
        before: str | None = None,
    ) -> Iterator[Turn]:
        """Return turns, hidden ones too, newest first by the time they were said, then by place in the log.

        `before` is the id of the last turn of the previous page.
        """
        where, values = "", dict[str, Any]()
        if session is not None:
            where, values["session"] = f"{where} AND {statements.IN_SESSION}", session
        if since is not None:
            where, values["since"] = f"{where} AND log.at >= :since", to_micros(since)
        if until is not None:
            where, values["until"] = f"{where} AND log.at < :until", to_micros(until)
        behind = """ AND (log.at, log.seq) < (SELECT behind.at, behind.seq FROM log AS behind
            WHERE behind.ns = :ns AND behind.id = :before AND behind.entry = 'turn')"""
        while limit > 0:
            page = min(limit, _PAGE)
            sql = statements.NEWEST_TURNS[self._tx.engine].format(where=where if before is None else where + behind)
            rows = self._tx.rows(sql, limit=page, **values, **({} if before is None else {"before": before}))
            for row in rows:
                yield read_turn(self._tx.namespace, row)
            if len(rows) < page:
                return
            limit, before = limit - page, rows[-1][1]

    def uncompacted_turns(self, session: str, upto: int) -> list[Turn]:
        """Return the turns of a session up to an index that no live summary or guidance of a compaction replaces."""
        return self._read_turns(self._tx.rows(statements.UNCOMPACTED_TURNS, session=session, upto=upto))

    def _turns(
        self, where: str, chars: int | None = None, by: str = "", column: int = 0, **values: object
    ) -> list[Turn]:
        if chars is not None:
            values["size"] = 4 * chars
        sql = f"{statements.TURNS if chars is None else statements.SHORT_TEXTS} {where}"
        rows = self._tx.kept(sql, by, column, **values) if by else self._tx.rows(sql, **values)
        if chars is None:
            return self._read_turns(rows)
        long = self._tx.beginnings({row[0]: chars for row in rows if row[TEXT_COLUMN] is None})
        return self._read_turns(with_text(row, str(long.get(row[0], row[TEXT_COLUMN]))[:chars]) for row in rows)

    def _read_turns(self, rows: Iterable[Row]) -> list[Turn]:
        return [read_turn(self._tx.namespace, row) for row in rows]

    # --- what was erased

    @cached_property
    def _has_tombstones(self) -> bool:
        return has_tombstones(self._tx)

    def tombstones(self, session: str) -> list[tuple[int, Tombstone]]:
        """Return (place in the log, tombstone) of the erased turns of a session, in order."""
        if not self._has_tombstones:
            return []
        rows = self._tx.rows(f"{statements.TOMBSTONES} ORDER BY idx", session=self._tx.marker.session(session))
        return [read_tombstone_row(row) for row in rows]

    def erasures(self) -> tuple[int, datetime | None]:
        """Return how many turns and records were erased, and when the last one was."""
        ((count, last),) = self._tx.rows("SELECT count(*), max(at) FROM tombstones WHERE ns = :ns")
        return count, None if last is None else from_micros(last)

    def erased_at(self, noun_id: str) -> datetime | None:
        """Return when the turn or record of this id was erased; None if it was not."""
        if not self._has_tombstones:
            return None
        sql = "SELECT at FROM tombstones WHERE ns = :ns AND noun = :noun"
        at = self._tx.one(sql, noun=self._tx.marker.noun(noun_id))
        if at is None:  # the id of the tombstone itself, which ingest returns for a turn that comes again
            sql = "SELECT log.at FROM log WHERE log.ns = :ns AND log.id = :id AND log.entry <> 'turn'"
            at = self._tx.one(f"{sql} AND log.entry = 'erase'", id=noun_id)
        return None if at is None else from_micros(at)

    def is_refused(self, text: str) -> bool:
        """Return whether a record that said this was erased: it is not extracted from turns again."""
        sql = "SELECT 1 FROM refused WHERE ns = :ns AND statement = :statement"
        return self._has_tombstones and bool(self._tx.one(sql, statement=self._tx.marker.statement(text)))

    # --- records

    def record(self, record_id: str) -> Record | None:
        found = self._records("WHERE records.ns = :ns AND records.id = :id", id=record_id)
        return next(iter(found.values()), None)

    def records(self, nums: Sequence[int]) -> dict[int, Record]:
        """Return records by their number; their retrievals may be counted since."""
        return self._records("WHERE records.ns = :ns AND records.num IN :nums", "nums", nums=[int(num) for num in nums])

    def records_of(self, turn: Turn) -> list[Record]:
        """Return the records that come from a turn, in the order in which the log created them."""
        # By the line that created them: their numbers differ after a rebuild, which creates those of acts first.
        sql = """JOIN sources AS link ON link.ns = :ns AND link.record = records.num
            WHERE records.ns = :ns AND link.turn = :turn ORDER BY records.born, records.num"""
        return list(self._records(sql, turn=turn.seq).values())

    def recent_records(
        self,
        limit: int,
        kind: Kind | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        session: str | None = None,
        *,
        before: str | None = None,
        provenance: Provenance | None = None,
        live: bool | None = True,
        merged: bool = False,
    ) -> list[Record]:
        """Return records, newest first; `before` is the id of the last record of the previous page.

        `provenance` is the stated one, before the janitor; `live` is as in is_live, None for all; `merged` leaves only
        those that were merged from several statements, and no digests.
        """
        where, values = "", dict[str, Any]()
        if kind is not None:
            where, values["kind"] = f"{where} AND records.kind = :kind", kind_number(kind)
        if since is not None:
            where, values["since"] = f"{where} AND records.at >= :since", to_micros(since)
        if until is not None:
            where, values["until"] = f"{where} AND records.at < :until", to_micros(until)
        if session is not None:
            where, values["session"] = f"{where} AND {statements.FROM_SESSION}", self.session_number(session) or 0
        if provenance is not None:
            where, values["provenance"] = f"{where} AND records.provenance = :provenance", provenance.value
        if merged:
            where = f"{where} AND records.evidence_count > 1 AND records.compaction IS NULL"
        if live is not None:
            where = f"{where} AND {'' if live else 'NOT '}{statements.IS_LIVE}"
        if before is not None:
            values["before"] = before
            where = f"""{where} AND (records.at, records.born, records.num) < (
                SELECT behind.at, behind.born, behind.num FROM records AS behind
                WHERE behind.ns = :ns AND behind.id = :before)"""
        order = "ORDER BY records.at DESC, records.born DESC, records.num DESC LIMIT :limit"
        return list(self._records(f"WHERE records.ns = :ns{where} {order}", limit=limit, **values).values())

    def _records(self, where: str, by: str = "", **values: object) -> dict[int, Record]:
        """Return records by their number, in the order of the statement."""
        found, sql = {}, f"{statements.RECORDS} {where}"
        for *row, sources in self._tx.kept(sql, by, **values) if by else self._tx.rows(sql, **values):
            turn_ids = {int(turn): turn_id for turn, turn_id in json.loads(sources or "{}").items()}
            found[row[0]] = read_record(self._tx.namespace, tuple(row), [turn_ids[turn] for turn in sorted(turn_ids)])
        return found

    def is_live(self, record: Record) -> bool:
        """Return whether recall may show a record: not superseded, not hidden, and not made of what is hidden."""
        sql = f"SELECT 1 FROM records WHERE records.ns = :ns AND records.id = :id AND {statements.IS_LIVE}"
        return self._tx.one(sql, id=record.id) is not None

    def protected(self) -> list[int]:
        """Return the numbers of the guidance that compactions keep word for word."""
        sql = """SELECT records.num FROM records
            WHERE records.ns = :ns AND records.kind = :kind AND records.compaction IS NOT NULL"""
        return [num for (num,) in self._tx.rows(sql, kind=kind_number(Kind.GUIDANCE))]

    def successions(self) -> dict[str, str]:
        """Return the successor of every record that has one."""
        sql = "SELECT id, superseded_by FROM records WHERE ns = :ns AND superseded_by IS NOT NULL"
        return dict(self._tx.rows(sql))

    def retired(self) -> list[tuple[int, int]]:
        """Return (number, microseconds until which it is valid) of every record that was superseded."""
        if self._has_no("retired"):
            return []
        # With a hint, for SQLite would use the index of kinds and read every record: 6 ms of a search among 24,000.
        sql = """SELECT records.num, records.valid_to FROM records /*INDEXED BY records_retired*/
            WHERE records.ns = :ns AND records.superseded_by IS NOT NULL"""
        return [(num, valid_to) for num, valid_to in self._tx.kept(sql)]

    def successors(self, turns: Sequence[int]) -> list[tuple[int, int]]:
        """Return (turn, the turn that replaced or revised what it said) for those of the turns that have one."""
        newer: list[tuple[int, str]] = []
        older: list[tuple[int, str]] = []
        asked = [int(turn) for turn in turns]
        for turn, superseded_by, metadata in self._tx.kept(statements.SUCCESSORS, "turns", turns=asked):
            if superseded_by is not None:
                newer.append((turn, superseded_by))
            revised = unpack_metadata(metadata).get("revises")
            older += [(turn, str(one)) for one in (revised if isinstance(revised, list) else ())]
        sources = defaultdict[str, list[int]](list)
        names = list(dict.fromkeys(name for _, name in newer + older))
        for name, turn in self._tx.kept(statements.SOURCES_OF, "ids", ids=names):
            sources[name].append(turn)
        found = [(turn, later) for turn, name in newer for later in sources[name]]
        found += [(earlier, turn) for turn, name in older for earlier in sources[name]]
        return [(before, after) for before, after in found if before < after]

    def replaced(self, turns: Sequence[int]) -> list[tuple[int, Record, Record]]:
        """Return (turn, record, the record at the end of its chain of replacements) for replaced records of turns."""
        rows = self._tx.kept(statements.REPLACED, "turns", turns=[int(turn) for turn in turns]) if turns else []
        known = self.records(list({num for _, *pair in rows for num in pair})) if rows else {}
        return sorted(
            ((turn, known[old], known[new]) for turn, old, new in rows if old in known and new in known),
            key=lambda one: (one[0], one[1].id),
        )

    def record_states(self, fingerprint: str, after: int = 0) -> list[RecordState]:
        """Return every record with its lifetime in the log and its vector; a hidden one ended when it was hidden.

        `after`: only records with a higher number.
        """
        slot = self._heads.slots.get(fingerprint)
        if slot is None:
            return []
        found = []
        for *row, born, retired, hidden, data in self._tx.rows(
            statements.RECORD_STATES, slot=slot, space=int(Space.RECORD), after=after
        ):
            record = read_record(self._tx.namespace, tuple(row), (), lower=False)
            if COMPACTION in record.metadata:  # it repeats what turns said: nothing to compare a new turn with
                continue
            ends = [end for end in (retired, hidden) if end is not None]
            found.append(RecordState(record, born, min(ends) if ends else None, *unpack_vectors([data])))
        return found

    def idle_records(self) -> Iterator[IdleRecord]:
        """Return every live record that was never retrieved, in the order of their numbers."""
        provenances = {one.value: one for one in Provenance}
        for row in self._tx.stream(statements.IDLE_RECORDS):
            noun, kind, text, provenance, confidence, notches, trust, at, came, said, tended, explicit = row
            trusted = lower_trust(provenances[provenance], confidence, notches, trust)
            yield IdleRecord(
                noun, KINDS[kind], text, *trusted, max(at, said or at), came or at, tended or 0, bool(explicit)
            )

    # --- what was hidden

    def hidden(self, space: Space) -> list[int]:
        """Return the numbers of the turns or records that recall must not show."""
        if self._has_no("hidden") and (space is Space.TURN or self._has_no("gone")):
            return []
        sql = statements.HIDDEN_TURNS if space is Space.TURN else statements.HIDDEN_RECORDS
        return [num for (num,) in self._tx.kept(sql)]

    def gone(self) -> list[int]:
        """Return, in order, the numbers of records that became other documents; an index may still contain them."""
        if self._has_no("gone"):
            return []
        return [num for (num,) in self._tx.kept("SELECT num FROM gone WHERE ns = :ns ORDER BY num")]

    def is_hidden(self, noun_id: str) -> bool:
        """Return whether a turn or record itself was forgotten."""
        sql = "SELECT 1 FROM hidden WHERE ns = :ns AND subject = :subject"
        return self._tx.one(sql, subject=noun_id) is not None

    def forgotten(self) -> dict[str, int]:
        """Return the line of the log that forgot each id; some of the ids may be derived only later."""
        return dict(self._tx.rows("SELECT subject, seq FROM hidden WHERE ns = :ns"))

    # --- receipts and figures

    def receipts(self, subject: str) -> list[Decision]:
        """Return what was decided about a turn or record, in order."""
        return [decision for _, decision in self._decisions("subject = :subject ORDER BY number", subject=subject)]

    def decisions(self, what: Sequence[str]) -> list[tuple[str, Decision]]:
        """Return (subject, decision) of every receipt with one of these names; reads all receipts of the namespace."""
        return self._decisions("what IN :what ORDER BY subject, number", what=list(what))

    def _decisions(self, where: str, **values: object) -> list[tuple[str, Decision]]:
        sql = f"SELECT subject, what, reason, at, details FROM receipts WHERE ns = :ns AND {where}"
        return [
            (subject, Decision(what, reason, None if at is None else from_micros(at), unpack_metadata(details)))
            for subject, what, reason, at, details in self._tx.rows(sql, **values)
        ]

    def counts(self) -> Counts:
        ((sessions, turns, records, summaries, guidance, hidden),) = self._tx.rows(statements.COUNTS)
        return Counts(sessions, turns, records, summaries, guidance, hidden)

    def counters(self, since: str | None) -> list[tuple[str, str, int]]:
        """Return (day, name, count) from a day on, oldest first."""
        sql = "SELECT day, name, count FROM counters WHERE ns = :ns AND day >= :since ORDER BY day, name"
        return [(day, name, count) for day, name, count in self._tx.rows(sql, since=since or "")]

    def scores(self) -> list[float]:
        """Return G of every turn that the gate judged, in the order of the log."""
        sql = "SELECT signals.data FROM signals WHERE signals.ns = :ns ORDER BY signals.seq"
        return [read_score(data) for (data,) in self._tx.rows(sql)]

    # --- indexes

    def cursor(self, stage: str) -> int:
        """Return how far a stage of derived work has come."""
        if not stage.startswith("compact:"):
            return self._heads.cursors.get(stage, 0)
        return int(self._tx.one("SELECT done FROM cursors WHERE ns = :ns AND stage = :stage", stage=stage) or 0)

    def unchanged(self) -> Move:
        """Return a condition for `Store.advance`: no rebuild or erase has renumbered the records since."""
        epoch = self.cursor(EPOCH_STAGE)
        return Move(EPOCH_STAGE, epoch, epoch)

    def newest_document(self, space: Space) -> int:
        """Return the highest number of a turn, record or passage, read with the other heads."""
        return self._heads.ends[{Space.RECORD: "records", Space.PASSAGE: "passages"}.get(space, "turns")]

    def numbers(self, space: Space, after: int, limit: int) -> list[int]:
        """Return the numbers of the turns, records or passages behind a number, in order."""
        kind = space if space in (Space.RECORD, Space.PASSAGE) else Space.TURN
        if after >= self.newest_document(space):
            return []
        return [num for (num,) in self._tx.rows(statements.NUMBERS_OF[kind], after=after, limit=limit)]

    def turn_bytes(self, after: int) -> int:
        """Return the size of the texts of all turns behind a number, without reading them."""
        if after >= self.newest_document(Space.TURN):
            return 0
        sql = f"SELECT sum(octet_length(log.text)) FROM log {statements.TURNS_BEHIND}"
        return int(self._tx.one(sql, after=after) or 0)

    def documents(self, space: Space, after: int, limit: int, chars: int | None = None) -> list[Document]:
        """Return turns, records or passages behind a number, as the indexes need them.

        A text of more than four bytes for each of `chars` is cut to that many characters.
        """
        kind = space if space in (Space.RECORD, Space.PASSAGE) else Space.TURN
        if after >= self.newest_document(space):
            return []
        if kind is Space.TURN and chars is not None:
            rows = self._tx.rows(statements.SHORT_DOCUMENTS, after=after, limit=limit, size=4 * chars)
            long = self._tx.beginnings({row[0]: chars for row in rows if row[1] is None})
            rows = [(row[0], long.get(row[0], row[1]), *row[2:]) for row in rows]
        else:
            rows = self._tx.kept(statements.DOCUMENTS_OF[kind], after=after, limit=limit)
        if kind is Space.PASSAGE:
            return self._passages(rows)
        return [read_document(row, space) for row in rows]

    def _passages(self, cuts: Sequence[Row]) -> list[Document]:
        sql = """SELECT log.seq, log.at, log.session, log.role FROM log WHERE log.ns = :ns AND log.seq IN :turns"""
        asked: dict[int, int] = {}  # each turn is read once, and not further than its last passage
        for _, turn, _, stop in cuts:
            asked[turn] = max(asked.get(turn, 0), stop)
        turns = {seq: tuple(row) for seq, *row in self._tx.kept(sql, "turns", turns=list(asked))}
        texts = self._tx.beginnings({seq: asked[seq] for seq in turns})
        found = []
        # A cut without a turn is skipped: a store with such a fault must open, or the doctor could not find it.
        for num, turn, start, stop in (cut for cut in cuts if cut[1] in turns):
            found.append(read_document((num, texts[turn][start:stop], turn), Space.PASSAGE, turns[turn]))
        return found

    def document_blocks(self, space: Space) -> list[BlockRef]:
        return list(self._heads.documents.get(int(space), ()))

    def document_block(self, space: Space, block: int) -> bytes:
        sql = "SELECT data FROM documents WHERE ns = :ns AND space = :space AND block = :block"
        data: bytes = self._tx.one(sql, space=int(space), block=block)
        return data

    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        """Return (block, bytes) of each term, in the order of the blocks."""
        asked = dict.fromkeys(terms)
        if int(space) in self._heads.documents:
            self._read_postings(space, [term for term in asked if (int(space), term) not in self._postings])
        return {term: list(self._postings.get((int(space), term), ())) for term in asked}

    def _read_postings(self, space: Space, terms: list[str]) -> None:
        """Read those of turns with those of the other spaces: a search asks for the same terms in each of them."""
        spaces = [int(space)] if space is Space.RECORD else list(self._heads.documents)
        for one in spaces:
            self._postings.update({(one, term): [] for term in terms})
        sql = "SELECT term, space, block, data FROM postings WHERE ns = :ns AND space IN :spaces AND term IN :terms"
        for term, one, block, data in sorted(self._tx.kept(sql, "terms", spaces=spaces, terms=terms)):
            self._postings[one, term].append((block, data))

    def speakers(self) -> list[str]:
        """Return the terms for names of speakers in the word index."""
        sql = "SELECT DISTINCT term FROM postings WHERE ns = :ns AND space = :space AND term >= '@' AND term < 'A'"
        return [term for (term,) in self._tx.kept(sql, space=int(Space.TURN))]

    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]:
        slot = self._heads.slots.get(fingerprint)
        return [] if slot is None else list(self._heads.segments.get((int(space), slot), ()))

    def segment(self, space: Space, fingerprint: str, block: int) -> bytes:
        sql = "SELECT data FROM segments WHERE ns = :ns AND space = :space AND slot = :slot AND block = :block"
        data: bytes = self._tx.one(sql, space=int(space), slot=self._heads.slots[fingerprint], block=block)
        return data

    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return (number, float32 vector) of those of the documents that have one."""
        if (held := self._held.get((fingerprint, space))) is not None:
            return [(num, held[num]) for num in dict.fromkeys(map(int, nums)) if num in held]
        return self._vectors(space, fingerprint, "vectors.num IN :nums", "nums", nums=[int(num) for num in nums])

    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]:
        """Return (number, float32 vector) of documents with numbers in a range, in order."""
        if (held := self._held.get((fingerprint, space))) is not None:
            return [(num, vector) for num, vector in held.items() if after < num <= upto]
        where = "vectors.num > :after AND vectors.num <= :upto ORDER BY vectors.num"
        return self._vectors(space, fingerprint, where, after=after, upto=upto)

    def hold_vectors(self, fingerprint: str) -> None:
        """Read all vectors of a namespace that has no segments yet, where each statement is sent to a server.

        A search reads them anyway, one space after the other.
        """
        slot = self._heads.slots.get(fingerprint)
        if slot is None or self._tx.engine == "sqlite" or (fingerprint, Space.TURN) in self._held:
            return
        if any(of == slot for _, of in self._heads.segments):
            return
        stored: dict[int, dict[int, bytes]] = {int(space): {} for space in Space if space is not Space.CLAIM}
        for space, num, data in sorted(self._tx.kept(statements.POSTGRES_VECTORS, slot=slot, spaces=list(stored))):
            stored[space][num] = data
        own, statement = stored[Space.TURN], stored[Space.STATEMENT]
        stored[Space.STATEMENT] = {num: data or own[num] for num, data in statement.items() if data or num in own}
        for space, every in stored.items():
            self._held[fingerprint, space] = dict(zip(every, unpack_vectors(list(every.values())), strict=True))

    def _vectors(self, space: Space, model: str, where: str, by: str = "", **values: object) -> list[tuple[int, bytes]]:
        slot = self._heads.slots.get(model)
        if slot is None:
            return []
        data = statements.STATEMENT_VECTOR if space is Space.STATEMENT else "vectors.data"
        sql = f"SELECT vectors.num, {data} FROM vectors {statements.IN_SPACE} AND {where}"
        rows = [row for row in self._tx.kept(sql, by, slot=slot, space=int(space), **values) if row[1] is not None]
        unpacked = unpack_vectors([data for _, data in rows])
        return [(num, vector) for (num, _), vector in zip(rows, unpacked, strict=True)]

    # --- for the doctor

    def orphans(self) -> list[tuple[str, str]]:
        """Return (what it is, its id or number) of every row of the views that belongs to nothing."""
        return orphans(self._tx)

    def models(self) -> dict[str, int]:
        """Return the number of turns and records that each embedding model has vectors of, by its fingerprint."""
        return models(self._tx)

    def odd_vectors(self, fingerprint: str, sizes: Mapping[Space, int]) -> list[tuple[Space, int]]:
        """Return (space, number) of vectors that do not have the size, in bytes of float32, of their space."""
        slot = self._heads.slots.get(fingerprint)
        return [] if slot is None else odd_vectors(self._tx, slot, sizes)


def _read_action(entry: str, noun: str, at: int, payload: str) -> Action:
    return Action(Entry(entry), noun, from_micros(at), unpack_metadata(payload))


def _with_gaps(found: Mapping[int, TurnPlace], asked: Collection[int]) -> list[TurnPlace]:
    """Return places by index, with a gap wherever there may be some that nobody asked for."""
    places, before = list[TurnPlace](), -1
    for index in sorted(found):
        if any(missing not in asked for missing in range(before + 1, index)):
            places.append(gap_behind(before))
        places.append(found[index])
        before = index
    return places
