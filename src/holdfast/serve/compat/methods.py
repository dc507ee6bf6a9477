"""The thirteen methods of openclaw-memory-libravdb, with its requests and responses (docs/reference/rpc.md).

`userId` may be given to every one of them: it names the memory. Without it the collection names it, or else the
connection's namespace is used.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice

from holdfast.context.rule_files import Node, Rules
from holdfast.errors import BadTime, FlushTimeout, HoldfastError, InputError, ModelError
from holdfast.memory import MAX_RESULTS, Memory
from holdfast.model import Hit, Kind, Metadata
from holdfast.models.chat import Message, open_chat
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
from holdfast.serve.inputs import field_names, input_class, read_arguments
from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.serve.rpc import Method, Params
from holdfast.settings import tuned
from holdfast.store.snapshot import Snapshot
from holdfast.text.words import terms

# --- search in a collection

Scored = tuple[Stored, float]


def search_collection(
    memory: Memory, collection: Collection, text: str, limit: int, excluded: frozenset[str], most: int
) -> list[Scored]:
    """Search in one collection, best match first; `most` is the maximum number of hits of a search."""
    wanted = min(limit + len(excluded), most)
    hits = [hit for hit in _hits(memory, collection, text, wanted) if hit.namespace == memory.namespace]
    with memory.view as view:
        found = _read(view, collection, hits)
        kept = (one for one in found if one[0].id not in excluded and one[0].noun not in excluded)
        return list(islice(kept, limit))


def _hits(memory: Memory, collection: Collection, text: str, limit: int) -> Iterable[Hit]:
    match collection.layer:
        case Layer.SESSION:
            return memory.search(text, limit, Kind.TURN, collection.name)
        case Layer.TURNS:
            return memory.search(text, limit, Kind.TURN)
        case Layer.ELEVATED_USER | Layer.ELEVATED_SESSION:
            return memory.search(text, limit, Kind.GUIDANCE)
    # Scores are standardised over all records, so those of different kinds are comparable.
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
    """Map a score, which is in standard deviations, to a number between 0 and 1; the order stays the same."""
    return 0.5 * (1.0 + score / (1.0 + abs(score)))


def search_rules(nodes: Iterable[Node], collection: Collection, text: str, limit: int) -> list[Scored]:
    """Rank rules by the share of the question's words that they contain."""
    wanted = set(terms(text))
    found = [(of_node(node, collection), len(wanted & set(terms(node.text))) / (len(wanted) or 1)) for node in nodes]
    return sorted((one for one in found if one[1] > 0.0), key=lambda one: -one[1])[:limit]


_OK = {"ok": True}
_INSERTED = "turns"
"""The session of a turn that is inserted into `turns:` without one."""
_MILLIS = 1000.0
_READY_S, _READY_WAIT_S = 60.0, 2.0
_METHODS = (
    "health", "status", "ensure_collections", "insert_text", "gating_scalar", "search_text", "list_by_meta",
    "export_memory", "flush_namespace", "delete", "delete_batch", "compact_session", "flush",
)  # fmt: skip
_SLOW = frozenset(("list_by_meta", "export_memory", "flush_namespace", "compact_session", "flush"))


class CollectionMethods:
    def __init__(self, memories: Memories, rules: tuple[str, ...] = ()) -> None:
        self._memories = memories
        self._settings = memories.settings
        self._paths = rules
        self._rules = Rules()
        self._asked = (-math.inf, False)

    def methods(self) -> dict[str, Method]:
        return {name: self._method(name) for name in _METHODS}

    def _method(self, name: str) -> Method:
        takes, run = _INPUTS[name], getattr(self, name)

        def call(params: Params) -> object:
            collection = params.get("collection")
            owner = read_collection(collection).namespace if isinstance(collection, str) else None
            self._memories.check_owner(name, params, owner)
            return run(**read_arguments(takes, params, name))

        return Method(call, field_names(takes), name in _SLOW)

    # --- status

    def health(self, userId: str | None = None) -> object:
        """Report whether it works; never fails, so that a host can ask for the reason."""
        try:
            degraded = self._degraded(userId)
        except HoldfastError as error:
            return {"ok": False, "message": str(error)}
        return {"ok": True, "message": f"degraded: {self._memories.redact(degraded)}" if degraded else "ready"}

    def _degraded(self, user: str | None) -> str | None:
        if user is None and self._memories.namespace is None:
            return None
        with self._memories.lend(user) as memory:
            return memory.status().degraded

    def status(self, userId: str | None = None) -> object:
        if userId is None and self._memories.namespace is None:
            turns, records, name, message = 0, 0, self._settings.embedder.profile, "no namespace is bound here"
        else:
            with self._memories.lend(userId) as memory:
                state = memory.status()
            turns, records, name = state.turns, state.records, self._memories.redact(state.embedder)
            message = f"degraded: {self._memories.redact(state.degraded)}" if state.degraded else "ready"
        return {
            "ok": True,
            "message": message,
            "turnCount": turns,
            "memoryCount": records,
            "gatingThreshold": self._settings.gate.threshold,
            "abstractiveReady": self._chat_answers(),
            "embeddingProfile": name,
        }

    def _chat_answers(self) -> bool:
        """Ask the chat model for a word, at most once a minute: one that is configured may still be down."""
        asked_at, ready = self._asked
        if self._settings.chat.model == "none" or time.monotonic() - asked_at < _READY_S:
            return ready
        chat = open_chat(self._settings.chat.model, timeout_s=_READY_WAIT_S)
        assert chat is not None
        with closing(chat), suppress(HoldfastError):
            ready = bool(chat.complete([Message("user", "Reply with the word ready.")], None, _READY_WAIT_S).strip())
        self._asked = (time.monotonic(), ready)
        return ready

    # --- writing

    def ensure_collections(self, collections: list[str], userId: str | None = None) -> object:
        for collection in [read_collection(name) for name in collections]:
            if collection.layer is Layer.AUTHORED:
                continue  # files, which exist or not
            with self._lend(collection, userId, reads=True) as memory:
                if collection.layer in (Layer.SESSION, Layer.ELEVATED_SESSION):
                    memory.bootstrap(collection.name)
        return _OK

    def insert_text(
        self, collection: str, id: str, text: str, metadata: Metadata | None = None, userId: str | None = None
    ) -> object:
        place, given = read_collection(collection), metadata or {}
        match place.layer:
            case Layer.SESSION | Layer.TURNS:
                self._insert_turn(place, id, text, given, userId)
            case Layer.USER | Layer.GLOBAL:
                self._insert_record(place, id, text, given, userId)
            case Layer.AUTHORED:
                raise InputError("rules are written in their files, which are read again when they change")
            case _:
                raise InputError(
                    "elevated guidance comes from compaction only; insert the turn into its session: collection"
                )
        return _OK

    def _insert_turn(self, place: Collection, key: str, text: str, metadata: Metadata, user: str | None) -> None:
        session = place.name if place.layer is Layer.SESSION else metadata.get("sessionId", _INSERTED)
        with self._lend(place, user) as memory:
            turn = memory.ingest(
                text,
                role=_text(metadata, "role", "user"),
                session=session if isinstance(session, str) else _INSERTED,
                at=_moment(metadata),
                key=key,
                stability=_number(metadata.get("stability_weight")),
                metadata=metadata,
            )
            _check_same(key, text, turn.text)
            self._unhide(memory, turn.id)

    def _insert_record(self, place: Collection, key: str, text: str, metadata: Metadata, user: str | None) -> None:
        kind = _text(metadata, "type", Kind.FACT.value)
        known = kind if kind in {one.value for one in RECORD_KINDS} else Kind.FACT.value
        with self._lend(place, user) as memory:
            record = memory.remember(text, known, key, metadata)
            _check_same(key, text, record.text)
            self._unhide(memory, record.id)

    def _unhide(self, memory: Memory, noun: str) -> None:
        """Make visible again what was deleted and is inserted again."""
        with memory.view as view:
            hidden = view.is_hidden(noun)
        if hidden:
            memory.forget(noun, undo=True)

    def delete(self, collection: str, id: str, userId: str | None = None) -> object:
        return self.delete_batch(collection, [id], userId)

    def delete_batch(self, collection: str, ids: list[str], userId: str | None = None) -> object:
        """Hide them from every recall; `memory.erase` destroys. Unknown ids are ignored."""
        place = read_collection(collection)
        if place.layer is Layer.AUTHORED:
            raise InputError("rules are deleted in their files, which are read again when they change")
        with self._lend(place, userId) as memory:
            with memory.view as view:
                found = [find(view, place, one) for one in ids]
            for one in found:
                if one is not None:
                    memory.forget(one.noun)
        return _OK

    def flush_namespace(self, userId: str) -> object:
        """Destroy everything of one user, by the exact name (SAFE-5)."""
        with self._memories.lend(userId) as memory:
            memory.erase(namespace=True)
        return _OK

    def compact_session(
        self, sessionId: str, force: bool = False, targetSize: int | None = None, userId: str | None = None
    ) -> object:
        """Ignore `targetSize`: a cluster has at most 20 turns (COMP-1)."""
        with self._memories.lend(userId) as memory:
            made = memory.compact(sessionId, force)
        return {
            "didCompact": made.did_compact,
            "clustersFormed": made.clusters_formed,
            "turnsRemoved": made.turns_removed,
            "summaryMethod": made.summary_method,
            "meanConfidence": made.mean_confidence,
        }

    def flush(self, userId: str | None = None) -> object:
        """Wait until background work has caught up, for one user or for every memory in use."""
        deadline = time.monotonic() + tuned(self._settings, ServeLimits).flush_s
        for name in [userId] if userId is not None else self._memories.used():
            with self._memories.lend(name, reads=True) as memory:
                memory.flush(max(deadline - time.monotonic(), 0.0))
        return _OK

    # --- reading

    def gating_scalar(self, text: str, userId: str | None = None) -> object:
        """Score a text that is in no collection yet; waits until the turns before it are embedded."""
        with self._memories.lend(userId) as memory:
            with suppress(FlushTimeout, ModelError):  # then it judges by what there is
                memory.flush(tuned(self._settings, ServeLimits).catch_up_s)
            signals = memory.gating_scalar(text)
        return {**signals.as_dict(), "inputFreq": signals.input_freq, "memSaturation": signals.mem_saturation}

    def search_text(
        self, collection: str, text: str, k: int = 10, excludeIds: list[str] | None = None, userId: str | None = None
    ) -> object:
        place = read_collection(collection)
        if not 1 <= k <= MAX_RESULTS:
            raise InputError(f"search_text: k must be a whole number from 1 to {MAX_RESULTS}, not {k}")
        if place.layer is Layer.AUTHORED:
            found = search_rules(self._nodes(place), place, text, k)
        else:
            with self._lend(place, userId, reads=True) as memory:
                found = search_collection(memory, place, text, k, frozenset(excludeIds or ()), MAX_RESULTS)
        return {"results": [_result(stored, score) for stored, score in found]}

    def list_by_meta(self, collection: str, key: str, value: str, userId: str | None = None) -> object:
        return {
            "results": [
                _result(one, 1.0)
                for one in self._all(read_collection(collection), userId)
                if key in one.metadata and _as_text(one.metadata[key]) == value
            ]
        }

    def export_memory(self, userId: str | None = None) -> object:
        """Return every visible turn and record of one user, once each, with its collection."""
        with self._memories.lend(userId) as memory, memory.view as view:
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
        """Lend the memory of a collection, which a user id must not contradict (INV-4)."""
        named = collection.namespace
        if named is not None and user is not None and user != named:
            raise InputError(f"the collection {collection} does not belong to the user {user!r}")
        with self._memories.lend(user if named is None else named, reads=reads) as memory:
            yield memory


def _result(stored: Stored, score: float) -> dict[str, object]:
    return {"id": stored.id, "score": round(score, 6), "text": stored.text, "metadata": stored.metadata}


def _check_same(key: str, text: str, stored: str) -> None:
    if stored != text:
        raise InputError(f"the id {key!r} belongs to another text, which is kept; insert this one under another id")


def _text(metadata: Metadata, name: str, default: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else default


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _moment(metadata: Metadata) -> datetime | str | None:
    """Read `ts` in milliseconds since 1970, as libravdb's hosts give it, or `at` as text."""
    millis = _number(metadata.get("ts"))
    if millis is not None and math.isfinite(millis):
        try:
            return datetime.fromtimestamp(millis / _MILLIS, UTC)
        except (OverflowError, ValueError, OSError) as error:
            raise BadTime(f"ts must be milliseconds since 1970 within the calendar, not {millis:.0f}") from error
    at = metadata.get("at")
    return at if isinstance(at, str) else None


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_INPUTS = {name: input_class(name, getattr(CollectionMethods, name)) for name in _METHODS}
