"""The seed's thirteen methods, with its requests and responses (docs/rpc.md says what each does here)."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

from holdfast.context.rule_files import Node, Rules
from holdfast.errors import BadTime, FlushTimeout, HoldfastError, InputError, ModelError
from holdfast.memory import Memory
from holdfast.model import Hit, Kind
from holdfast.serve.compat.inputs import (
    CompactSession,
    Delete,
    DeleteBatch,
    EnsureCollections,
    ExportMemory,
    FlushNamespace,
    GatingScalar,
    InsertText,
    ListByMeta,
    Owner,
    SearchText,
)
from holdfast.serve.compat.stored import (
    RECORD_KINDS,
    Collection,
    Layer,
    Stored,
    everything,
    find,
    is_elevated,
    of_node,
    of_record,
    of_turn,
    read_collection,
    read_stored,
)
from holdfast.serve.inputs import field_names, read_input
from holdfast.serve.memories import Memories
from holdfast.serve.rpc import Method, Params
from holdfast.store.protocol import Snapshot
from holdfast.text.words import terms

# --- Searching one of the seed's collections: the engine's own search, kept to what lies in that collection.


Scored = tuple[Stored, float]


def search_collection(
    memory: Memory, collection: Collection, text: str, limit: int, left_out: frozenset[str], most: int
) -> list[Scored]:
    """What a collection knows about a text, best first; `most` is how many hits a search may give."""
    asked = min(limit + len(left_out), most)
    hits = [hit for hit in _hits(memory, collection, text, asked) if hit.namespace == memory.namespace]
    with memory.view as view:
        found = _read(view, collection, hits)
        kept = (one for one in found if one[0].id not in left_out and one[0].noun not in left_out)
        return list(islice(kept, limit))


def _hits(memory: Memory, collection: Collection, text: str, limit: int) -> Iterable[Hit]:
    match collection.layer:
        case Layer.SESSION:
            return memory.search(text, limit, Kind.TURN, collection.name)
        case Layer.TURNS:
            return memory.search(text, limit, Kind.TURN)
        case Layer.ELEVATED_USER | Layer.ELEVATED_SESSION:
            return memory.search(text, limit, Kind.GUIDANCE)
    # Scores are standardised over all records, so those of one kind compare with those of another.
    found = [hit for kind in RECORD_KINDS for hit in memory.search(text, limit, kind)]
    return sorted(found, key=lambda hit: -hit.score)


def _read(view: Snapshot, collection: Collection, hits: Iterable[Hit]) -> Iterator[Scored]:
    for hit in hits:
        if hit.kind is Kind.TURN:
            turn = view.turn(hit.id)
            if turn is not None:
                yield of_turn(turn, collection), as_share(hit.score)
        else:
            record = view.record(hit.id)
            if record is None or is_elevated(record) != (
                collection.layer in (Layer.ELEVATED_USER, Layer.ELEVATED_SESSION)
            ):
                continue
            if collection.layer is Layer.ELEVATED_SESSION and not _said_in(view, record.turn_ids, collection.name):
                continue
            yield of_record(record, collection), as_share(hit.score)


def _said_in(view: Snapshot, turn_ids: Iterable[str], session: str) -> bool:
    return any(turn is not None and turn.session == session for turn in map(view.turn, turn_ids))


def as_share(score: float) -> float:
    """A score as the seed has it, between 0 and 1. Ours are in standard deviations; the order stays the same."""
    return 0.5 * (1.0 + score / (1.0 + abs(score)))


def search_rules(nodes: Iterable[Node], collection: Collection, text: str, limit: int) -> list[Scored]:
    """By the share of the question's words that a rule holds: rules are few, and read whole in any case."""
    wanted = set(terms(text))
    found = [(of_node(node, collection), len(wanted & set(terms(node.text))) / (len(wanted) or 1)) for node in nodes]
    return sorted((one for one in found if one[1] > 0.0), key=lambda one: -one[1])[:limit]


_Given = TypeVar("_Given")
_OK = {"ok": True}
_INSERTED = "turns"
"""The session of a turn that came into `turns:` without one."""
_MILLIS = 1000.0


class SeedMethods:
    def __init__(self, memories: Memories, rules: tuple[str, ...] = ()) -> None:
        self._memories = memories
        self._settings = memories.settings
        self._paths = rules
        self._rules = Rules(settings=self._settings.authored)

    def methods(self) -> dict[str, Method]:
        return {
            "health": self._method("health", Owner, self.health),
            "status": self._method("status", Owner, self.status),
            "ensure_collections": self._method("ensure_collections", EnsureCollections, self.ensure_collections),
            "insert_text": self._method("insert_text", InsertText, self.insert_text),
            "gating_scalar": self._method("gating_scalar", GatingScalar, self.gating_scalar),
            "search_text": self._method("search_text", SearchText, self.search_text),
            "list_by_meta": self._method("list_by_meta", ListByMeta, self.list_by_meta, slow=True),
            "export_memory": self._method("export_memory", ExportMemory, self.export_memory, slow=True),
            "flush_namespace": self._method("flush_namespace", FlushNamespace, self.flush_namespace, slow=True),
            "delete": self._method("delete", Delete, self.delete),
            "delete_batch": self._method("delete_batch", DeleteBatch, self.delete_batch),
            "compact_session": self._method("compact_session", CompactSession, self.compact_session, slow=True),
            "flush": self._method("flush", Owner, self.flush, slow=True),
        }

    def _method(self, name: str, takes: type[_Given], run: Callable[[_Given], object], slow: bool = False) -> Method:
        def call(params: Params) -> object:
            collection = params.get("collection")
            owner = read_collection(collection).namespace if isinstance(collection, str) else None
            self._memories.check_owner(name, params, owner)
            return run(read_input(takes, params, name))

        return Method(call, field_names(takes), slow)

    # --- how it is

    def health(self, given: Owner) -> object:
        """Whether it can work; it never fails, so that a host can ask why."""
        try:
            degraded = self._degraded(given)
        except HoldfastError as error:
            return {"ok": False, "message": str(error)}
        return {"ok": True, "message": f"degraded: {self._memories.told(degraded)}" if degraded else "ready"}

    def _degraded(self, given: Owner) -> str | None:
        if given.userId is None and self._memories.namespace is None:
            return None
        with self._memories.lend(given.userId) as memory:
            return memory.status().degraded

    def status(self, given: Owner) -> object:
        if given.userId is None and self._memories.namespace is None:
            turns, records, name, message = 0, 0, self._settings.embedder.profile, "no namespace is bound here"
        else:
            with self._memories.lend(given.userId) as memory:
                state = memory.status()
            turns, records, name = state.turns, state.records, self._memories.told(state.embedder)
            message = f"degraded: {self._memories.told(state.degraded)}" if state.degraded else "ready"
        return {
            "ok": True,
            "message": message,
            "turnCount": turns,
            "memoryCount": records,
            "gatingThreshold": self._settings.gate.threshold,
            "abstractiveReady": self._settings.chat.model != "none",
            "embeddingProfile": name,
        }

    # --- writing

    def ensure_collections(self, given: EnsureCollections) -> object:
        for collection in [read_collection(name) for name in given.collections]:
            if collection.layer is Layer.AUTHORED:
                continue  # files, which are there or not
            with self._lend(collection, given.userId, reads=True) as memory:
                if collection.layer in (Layer.SESSION, Layer.ELEVATED_SESSION):
                    memory.bootstrap(collection.name)
        return _OK

    def insert_text(self, given: InsertText) -> object:
        collection = read_collection(given.collection)
        match collection.layer:
            case Layer.SESSION | Layer.TURNS:
                self._insert_turn(collection, given)
            case Layer.USER | Layer.GLOBAL:
                self._insert_record(collection, given)
            case Layer.AUTHORED:
                raise InputError("rules are written in their files, which are read again when they change")
            case _:
                raise InputError(
                    "elevated guidance comes of compaction alone; insert the turn into its session: collection"
                )
        return _OK

    def _insert_turn(self, collection: Collection, given: InsertText) -> None:
        said = given.metadata
        session = collection.name if collection.layer is Layer.SESSION else said.get("sessionId", _INSERTED)
        with self._lend(collection, given.userId) as memory:
            turn = memory.ingest(
                given.text,
                role=_text(said, "role", "user"),
                session=session if isinstance(session, str) else _INSERTED,
                at=_moment(said),
                key=given.id,
                stability=_number(said.get("stability_weight")),
                metadata=given.metadata,
            )
            _same(given, turn.text)
            self._bring_back(memory, turn.id)

    def _insert_record(self, collection: Collection, given: InsertText) -> None:
        kind = _text(given.metadata, "type", Kind.FACT.value)
        known = kind if kind in {one.value for one in RECORD_KINDS} else Kind.FACT.value
        with self._lend(collection, given.userId) as memory:
            record = memory.remember(given.text, known, given.id, given.metadata)
            _same(given, record.text)
            self._bring_back(memory, record.id)

    def _bring_back(self, memory: Memory, noun: str) -> None:
        """What was deleted and is inserted again is there again."""
        with memory.view as view:
            hidden = view.is_hidden(noun)
        if hidden:
            memory.forget(noun, undo=True)

    def delete(self, given: Delete) -> object:
        return self.delete_batch(DeleteBatch(given.collection, [given.id], given.userId))

    def delete_batch(self, given: DeleteBatch) -> object:
        """Hide them from every recall; `memory.erase` destroys. An id that is not there needs nothing."""
        collection = read_collection(given.collection)
        if collection.layer is Layer.AUTHORED:
            raise InputError("rules are deleted in their files, which are read again when they change")
        with self._lend(collection, given.userId) as memory:
            with memory.view as view:
                found = [find(view, collection, one) for one in given.ids]
            for one in found:
                if one is not None:
                    memory.forget(one.noun)
        return _OK

    def flush_namespace(self, given: FlushNamespace) -> object:
        """Destroy everything of one user, by the exact name (SAFE-5)."""
        with self._memories.lend(given.userId) as memory:
            memory.erase(namespace=True)
        return _OK

    def compact_session(self, given: CompactSession) -> object:
        with self._memories.lend(given.userId) as memory:
            made = memory.compact(given.sessionId, given.force)
        return {
            "didCompact": made.did_compact,
            "clustersFormed": made.clusters_formed,
            "turnsRemoved": made.turns_removed,
            "summaryMethod": made.summary_method,
            "meanConfidence": made.mean_confidence,
        }

    def flush(self, given: Owner) -> object:
        """Wait until derived work has caught up: of one user, or of every memory that is open here."""
        deadline = time.monotonic() + self._settings.serve.flush_s
        for name in [given.userId] if given.userId is not None else self._memories.opened():
            with self._memories.lend(name, reads=True) as memory:
                memory.flush(max(deadline - time.monotonic(), 0.0))
        return _OK

    # --- reading

    def gating_scalar(self, given: GatingScalar) -> object:
        """Of a text that is in no collection yet; it waits for the turns before it to be embedded."""
        with self._memories.lend(given.userId) as memory:
            with suppress(FlushTimeout, ModelError):  # then it judges by what is there
                memory.flush(self._settings.serve.catch_up_s)
            return memory.gating_scalar(given.text).as_dict()

    def search_text(self, given: SearchText) -> object:
        collection = read_collection(given.collection)
        most = self._settings.recall.most
        if not 1 <= given.k <= most:
            raise InputError(f"search_text: k must be a whole number from 1 to {most}, not {given.k}")
        if collection.layer is Layer.AUTHORED:
            found = search_rules(self._nodes(collection), collection, given.text, given.k)
        else:
            with self._lend(collection, given.userId, reads=True) as memory:
                found = search_collection(
                    memory, collection, given.text, given.k, frozenset(given.excludeIds or ()), most
                )
        return {"results": [_result(stored, score) for stored, score in found]}

    def list_by_meta(self, given: ListByMeta) -> object:
        collection = read_collection(given.collection)
        return {
            "results": [
                _result(one, 1.0)
                for one in self._all(collection, given.userId)
                if given.key in one.metadata and _as_text(one.metadata[given.key]) == given.value
            ]
        }

    def export_memory(self, given: ExportMemory) -> object:
        """Every turn and record of one user that recall may show, once each, in the collection it lies in."""
        with self._memories.lend(given.userId) as memory, memory.view as view:
            return {
                "records": [
                    {"collection": str(one.collection), "id": one.id, "text": one.text, "metadata": one.metadata}
                    for one in everything(view, memory.namespace)
                ]
            }

    def _all(self, collection: Collection, user: str | None) -> Iterator[Stored]:
        if collection.layer is Layer.AUTHORED:
            yield from (of_node(node, collection) for node in self._nodes(collection))
            return
        with self._lend(collection, user, reads=True) as memory, memory.view as view:
            yield from read_stored(view, collection)

    def _nodes(self, collection: Collection) -> list[Node]:
        return [node for node in self._rules.read(self._paths) if node.kind.value == collection.name]

    @contextmanager
    def _lend(self, collection: Collection, user: str | None, reads: bool = False) -> Iterator[Memory]:
        """The memory that a collection lies in. A user id beside it must not contradict it (INV-4)."""
        named = collection.namespace
        if named is not None and user is not None and user != named:
            raise InputError(f"the collection {collection} is not of the user {user!r}")
        with self._memories.lend(user if named is None else named, reads=reads) as memory:
            yield memory


def _result(stored: Stored, score: float) -> dict[str, object]:
    return {"id": stored.id, "score": round(score, 6), "text": stored.text, "metadata": stored.metadata}


def _same(given: InsertText, kept: str) -> None:
    if kept != given.text:
        raise InputError(
            f"the id {given.id!r} is taken by another text, which is kept; insert it under an id of its own"
        )


def _text(said: Mapping[str, object], name: str, usual: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else usual


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _moment(said: Mapping[str, object]) -> datetime | str | None:
    """When it was said: `ts` in milliseconds since 1970, as the seed's hosts give it, or `at` in words."""
    millis = _number(said.get("ts"))
    if millis is not None and math.isfinite(millis):
        try:
            return datetime.fromtimestamp(millis / _MILLIS, UTC)
        except (OverflowError, ValueError, OSError) as error:
            raise BadTime(f"ts must be milliseconds since 1970, and no calendar holds {millis:.0f}") from error
    at = said.get("at")
    return at if isinstance(at, str) else None


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
