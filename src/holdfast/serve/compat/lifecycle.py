"""The context engine's lifecycle: bootstrap, ingest, assemble, compact. None of them raises into the host (API-3).

A host's reply must never depend on memory: what fails or takes too long is told in the answer, with the reason, and the
host goes on. What takes longer than the host waits is not stopped: a turn that is being written is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from holdfast.errors import HoldfastError
from holdfast.log.messages import content_text
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.models.deadline import DeadlineExecutor
from holdfast.models.tokens import open_counter
from holdfast.serve.compat.inputs import Assemble, Bootstrap, CompactSession, IngestMessage, Owner
from holdfast.serve.errors import fault_of
from holdfast.serve.inputs import read_input
from holdfast.serve.memories import Memories
from holdfast.serve.verbs import Method, Params

_log = logging.getLogger("holdfast")

_Given = TypeVar("_Given")
_KNOWN_FIELDS = frozenset({"role", "content", "id"})
"""Of a host's message, with a time and an origin that are texts; whatever else it says is kept as metadata."""


class ContextEngine:
    """What a host registers. `ownsCompaction`: it compacts by itself, so the host must not."""

    ownsCompaction = True

    def __init__(self, memories: Memories, rules: tuple[str, ...] = ()) -> None:
        self._memories = memories
        self._rules = rules
        self._seconds = memories.settings.serve.lifecycle_s
        self._patience = DeadlineExecutor("the store")
        self._compacting = DeadlineExecutor("the compaction")  # apart: a model may take minutes

    def methods(self) -> dict[str, Method]:
        return {
            "bootstrap": Method(self.bootstrap, ("sessionId", "userId")),
            "ingest": Method(self.ingest, ("sessionId", "userId", "message", "isHeartbeat")),
            "assemble": Method(self.assemble, ("sessionId", "userId", "messages", "tokenBudget")),
            "compact": Method(self.compact, ("sessionId", "force", "targetSize", "userId"), slow=True),
            "prompt_section": Method(self.prompt_section, ("userId",)),
        }

    def warm_up(self) -> None:
        """Load what assembling needs before a host waits for it: the first time takes longer than the deadline."""
        if self._memories.namespace is not None:
            with self._memories.lend() as memory:
                memory.context([{"role": "user", "content": "ready?"}], rules=self._rules)

    def bootstrap(self, args: Params) -> dict[str, object]:
        """Create what a session needs; calling it twice changes nothing."""

        def work(given: Bootstrap) -> dict[str, object]:
            with self._memories.lend(given.userId) as memory:
                memory.bootstrap(given.sessionId)
            return {"ok": True}

        done = self._safely("bootstrap", Bootstrap, args, work, {"ok": False})
        return {**done, "ownsCompaction": self.ownsCompaction}

    def ingest(self, args: Params) -> dict[str, object]:
        """Keep a message; `ingested` is true when it is on disk. A message's `id` is its key: sent twice, kept once."""

        def work(given: IngestMessage) -> dict[str, object]:
            with self._memories.lend(given.userId) as memory:
                return {"ingested": _keep(memory, given) is not None}

        return self._safely("ingest", IngestMessage, args, work, {"ingested": False})

    def assemble(self, args: Params) -> dict[str, object]:
        """The messages as they were, and what memory adds to the system prompt: nothing is sent twice."""

        def work(given: Assemble) -> dict[str, object]:
            with self._memories.lend(given.userId) as memory:
                known = {} if given.tokenBudget is None else {"budget": given.tokenBudget}
                made = memory.context(given.messages, given.sessionId, rules=self._rules, **known)
            answer = {
                "messages": given.messages,
                "estimatedTokens": made.tokens + self._tokens(given.messages),
                "systemPromptAddition": made.text,
            }
            if made.degraded is None:
                return answer
            return {**answer, "degraded": self._memories.told(made.degraded, self._rules)}

        messages = args.get("messages")
        given = messages if isinstance(messages, list) else []
        failed: dict[str, object] = {"messages": given, "estimatedTokens": 0, "systemPromptAddition": ""}
        return self._safely("assemble", Assemble, args, work, failed)

    def compact(self, args: Params) -> dict[str, object]:
        """Compact a session. It goes on behind the host when it takes longer, and nothing is lost either way."""

        def work(given: CompactSession) -> dict[str, object]:
            with self._memories.lend(given.userId) as memory:
                return {"ok": True, "compacted": memory.compact(given.sessionId, given.force).did_compact}

        failed: dict[str, object] = {"ok": False, "compacted": False}
        return self._safely("compact", CompactSession, args, work, failed, self._compacting)

    def prompt_section(self, args: Params) -> dict[str, object]:
        """The namespace's standing records without a question, for an early pass before assembly."""

        def work(given: Owner) -> dict[str, object]:
            with self._memories.lend(given.userId) as memory:
                made = memory.standing()
            return {"text": made.text, "tokens": made.tokens, "ids": [record.id for record in made.records]}

        return self._safely("prompt_section", Owner, args, work, {"text": "", "tokens": 0, "ids": []})

    def _safely(
        self,
        name: str,
        takes: type[_Given],
        args: Mapping[str, object],
        work: Callable[[_Given], dict[str, object]],
        failed: dict[str, object],
        patience: DeadlineExecutor | None = None,
    ) -> dict[str, object]:
        try:
            self._memories.check_owner(name, args)
            given = read_input(takes, args, name)
            return (patience or self._patience).run(lambda: work(given), self._seconds)
        except Exception as error:  # API-3: whatever it is, the host goes on; the log and the answer say what it was
            fault = fault_of(error)
            if isinstance(error, HoldfastError):
                _log.warning("the host goes on without %s: %s", name, fault.logged)
            return {**failed, "error": {"type": fault.type, "message": fault.message, "advice": fault.advice}}

    def _tokens(self, messages: Sequence[Mapping[str, object]]) -> int:
        counter = open_counter(self._memories.settings.tokens)
        return sum(counter.count(_as_text(message.get("content"))) for message in messages)


def _keep(memory: Memory, given: IngestMessage) -> Turn | None:
    """Each call is one message said: a second "ok" is a second turn, unless it has the id of the first."""
    message = given.message
    key = message.get("id")
    told = {name: value for name in ("at", "origin") if isinstance(value := message.get(name), str)}
    return memory.ingest(
        cast("str", content_text(message.get("content"))),  # what is no text is refused at the door
        role=str(message.get("role", "")),
        session=given.sessionId,
        at=told.get("at"),
        key=None if key is None else str(key),
        origin=told.get("origin"),
        heartbeat=given.isHeartbeat,
        metadata={name: value for name, value in message.items() if name not in _KNOWN_FIELDS | told.keys()},
    )


def _as_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
