"""Ask a chat model about turns in the background; its proposals go into the log before anything uses them.

Admission stands before one turn at a time (admit/pipeline.py) and hands it over as a question; a thread of its own
asks, so that neither ingest nor the other views ever wait for a model. A failure is retried with growing waits (SAL-5);
after a bounded number of them the log says that rules read the turn, and the work goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.extract import AdmitWeights
from holdfast.admit.llm import LlmExtractor, pack, pack_refusal
from holdfast.admit.secrets import mask
from holdfast.errors import Closed, HoldfastError, ModelError
from holdfast.model import Action, Clock, Entry, Metadata, Record, Turn
from holdfast.models.chat import ChatLimits, GuardedChat, open_chat
from holdfast.models.embedder import Embedder, round_to_half
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import ADMIT_STAGE, CLAIMS_PER_TURN, Changes, Move, Space

# --- A lease in the store: one process at a time does what must not be done twice, and a dead one's claim runs
# out.
#
# A file lock would serialise every namespace of the file, and asking a model takes seconds. A cursor that moves
# only from where it was found is enough: it holds the moment, in milliseconds, until which somebody is at it.


class Lease:
    def __init__(self, store: Store, namespace: str, name: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._namespace = namespace
        self._stage = f"lease:{name}"
        self._clock = clock
        self._mine: int | None = None

    def take(self, seconds: float) -> bool:
        """Take it, or hold it for longer; False while somebody else has it."""
        now = int(self._clock() * 1000)
        with self._store.snapshot(self._namespace) as view:
            stands = view.cursor(self._stage)
        if stands > now and stands != self._mine:
            return False
        until = max(now + int(seconds * 1000), stands + 1)
        taken = self._store.advance(self._namespace, [Move(self._stage, stands, until)], Changes())
        self._mine = until if taken else None
        return taken

    def give_back(self) -> None:
        if self._mine is not None:
            self._store.advance(self._namespace, [Move(self._stage, self._mine, 0)], Changes())
            self._mine = None


_log = logging.getLogger("holdfast.admit")
_LOOK_S = 0.1  # how often one looks for the answer that another process is asking for
_SLACK_S = 5.0  # what a lease is longer than the call it covers: commits of others, a busy machine
_MOST_AT_ONCE = 4  # questions on the wire
_CLOSE_S = 0.2  # a call on the wire is not waited for longer than this; it ends with the process


@dataclass(frozen=True, slots=True)
class Question:
    """A turn whose proposals the log does not hold yet, with what the model is shown next to it."""

    turn: Turn
    before: tuple[Turn, ...]
    known: tuple[Record, ...]
    seen: int | None = None
    """End of the log when all this was read."""


def open_proposals(
    store: Store, settings: Settings, clock: Clock, settled: Callable[[str], None] = lambda namespace: None
) -> ProposalQueue | None:
    """Open the chat model that the settings name, ready to be asked; None if they name none."""
    limits = tuned(settings, ChatLimits)
    chat = open_chat(limits.model, limits.timeout_s, limits.max_reply_chars, limits.retry_s, limits.longest_retry_s)
    if chat is None:
        return None
    extractor = LlmExtractor(chat, tuned(settings, AdmitWeights), timeout_s=limits.timeout_s)
    return ProposalQueue(store, chat, extractor, limits, clock, settled)


class ProposalQueue:
    """Asks the chat model about turns, off everybody's path: one question per namespace at a time, a few at once.

    `settled` is called with the namespace when a question was settled, by this process or another.
    """

    def __init__(
        self,
        store: Store,
        chat: GuardedChat,
        extractor: LlmExtractor,
        settings: ChatLimits,
        clock: Clock,
        settled: Callable[[str], None],
    ) -> None:
        self._store = store
        self._chat = chat
        self._extractor = extractor
        self._settings = settings
        self._clock = clock
        self._settled = settled
        self._changed = threading.Condition()
        self._waiting: deque[str] = deque()
        self._questions: dict[str, Question] = {}
        """By namespace, those that wait and those that are being asked."""
        self._leases: dict[str, Lease] = {}
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._free = 0
        """Threads that wait for a question."""
        self._silent = False
        """The model answered none of the attempts of the last turn: until it does, a turn is worth one."""
        self.degraded: str | None = None
        """Why answers are late or missing; None when they are not."""

    def ask(self, namespace: str, question: Question) -> None:
        """Admission waits for this one. While a namespace has a question, a further one is ignored."""
        with self._changed:
            if self._stop.is_set() or namespace in self._questions:
                return
            self._questions[namespace] = question
            self._waiting.append(namespace)
            self._changed.notify()
            if not self._free and len(self._threads) < _MOST_AT_ONCE:
                thread = threading.Thread(target=self._run, name="holdfast-asking", daemon=True)
                thread.start()
                self._threads.append(thread)

    def is_asking(self, namespace: str) -> bool:
        return namespace in self._questions

    def close(self) -> None:
        """Stop. A question that is on the wire is asked again by the next process that opens the store."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        self._chat.close()
        for thread in self._threads:
            thread.join(_CLOSE_S)
        for lease in list(self._leases.values()):
            with suppress(HoldfastError):  # it runs out by itself; giving it back only spares the next process the wait
                lease.give_back()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._free += 1
                while not self._waiting and not self._stop.is_set():
                    self._changed.wait()
                self._free -= 1
                if self._stop.is_set():
                    return
                namespace = self._waiting.popleft()
                question = self._questions[namespace]
            try:
                self._settle(namespace, question)
            except Closed:
                return
            except Exception as error:  # a full disk, or a bug of ours: it must show itself and not end the work
                if not isinstance(error, HoldfastError):
                    _log.exception("%s: asking about turn %s failed", namespace, question.turn.id)
                self._note(namespace, f"records wait: {error}")
                self._stop.wait(self._settings.retry_s)
            with self._changed:
                del self._questions[namespace]
            if not self._stop.is_set():
                self._settled(namespace)

    def _settle(self, namespace: str, question: Question) -> None:
        """Ask until the log holds an answer, or the reason why there is none."""
        lease = self._leases.setdefault(namespace, Lease(self._store, namespace, "ask"))
        attempts = 1 if self._silent else self._settings.attempts
        attempt = 0
        while not self._stop.is_set() and not self._is_settled(namespace, question.turn):
            wait = min(self._settings.retry_s * 2**attempt, self._settings.longest_retry_s)
            if not lease.take(self._settings.timeout_s + wait + _SLACK_S):
                self._stop.wait(_LOOK_S)
                continue
            if self._is_settled(namespace, question.turn):  # by another process, between the look above and the lease
                break
            try:
                answer = self._answer(question)
            except ModelError as error:
                attempt += 1
                self._note(namespace, f"records wait for the chat model, attempt {attempt} of {attempts}: {error}")
                if attempt < attempts:
                    self._stop.wait(wait)
                    continue
                self._silent = True
                self._note(namespace, f"rules read turns until the chat model answers again: {error}")
                answer = pack_refusal(self._extractor.name, str(error))
            else:
                self._silent = False
                self.degraded = None
            self._keep(namespace, question, answer)
            break  # also if it came too late: admission looks again, and asks again if it must
        lease.give_back()

    def _answer(self, question: Question) -> Metadata:
        proposals = self._extractor.propose(question.turn, question.before, question.known)
        return pack(
            self._extractor.name, self._extractor.prompt, self._extractor.criterion, proposals.candidates,
            proposals.dropped,
        )  # fmt: skip

    def _keep(self, namespace: str, question: Question, answer: Metadata) -> None:
        if not self._stop.is_set():
            turn = question.turn
            action = Action(Entry.PROPOSE, turn.id, self._clock(), answer)
            self._store.propose(namespace, action, turn.seq, question.seen)

    def _is_settled(self, namespace: str, turn: Turn) -> bool:
        """Return True if the log has it by now, or admission passed it (in a process without a model)."""
        with self._store.snapshot(namespace) as view:
            return view.cursor(ADMIT_STAGE) >= turn.seq or turn.id in view.proposals([turn.id])

    def _note(self, namespace: str, why: str) -> None:
        reason = mask(why).text  # it may quote what a server said
        if self.degraded is None:
            _log.warning("%s: %s", namespace, reason)
        self.degraded = reason


# --- The vectors of what admission reads out of turns, kept next to the turns: a rebuild asks no model (INV-3).
#
# A record keeps the vector of its own text, but a candidate that was merged or dropped leaves none, and a rebuild
# has to compare it again.


_ROOM = CLAIMS_PER_TURN
"""Claims beyond this number are embedded again."""
_DIGEST = 16


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one turn's claims, and the rows that keep those that were made now."""

    vectors: NDArray[np.float32]
    rows: list[tuple[Space, int, bytes]]


def embed_claims(view: Snapshot, claims: Mapping[int, Sequence[str]], embedder: Embedder) -> dict[int, Embedded]:
    """A vector for each text of each turn, by the turn's place in the log.

    The rules may read other claims out of a turn by now, so a stored one names its text.
    """
    dims, fingerprint = embedder.profile.dims, embedder.profile.fingerprint
    nums = [turn * _ROOM + at for turn, texts in claims.items() for at in range(min(len(texts), _ROOM))]
    known = {
        (num // _ROOM, data[:_DIGEST]): _read(data[_DIGEST:], dims)
        for num, data in view.vectors(Space.CLAIM, fingerprint, nums)
    }
    fresh = [
        (turn, at, text)
        for turn, texts in claims.items()
        for at, text in enumerate(texts)
        if (turn, _digest(text)) not in known
    ]
    rows: dict[int, list[tuple[Space, int, bytes]]] = {turn: [] for turn in claims}
    made = round_to_half(embedder.embed([text for _, _, text in fresh])) if fresh else ()
    for (turn, at, text), vector in zip(fresh, made, strict=True):
        digest = _digest(text)
        known[turn, digest] = vector
        if at < _ROOM:
            rows[turn].append((Space.CLAIM, turn * _ROOM + at, digest + vector.astype("<f2").tobytes()))
    return {
        turn: Embedded(np.stack([known[turn, _digest(text)] for text in texts]), rows[turn])
        for turn, texts in claims.items()
    }


def _read(data: bytes, dims: int) -> NDArray[np.float32]:
    """Older stores keep claims in full precision."""
    return np.frombuffer(data, "<f2" if len(data) == 2 * dims else "<f4").astype("<f4")


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_DIGEST).digest()
