"""The lifecycle of a context engine: bootstrap, ingest, assemble, compact. None of them raises into the host (API-3).

A host's reply must never depend on memory: a call that fails or takes too long returns the reason, and the host
continues. A call that takes longer than the host waits is not stopped: a turn that is being written is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from holdfast.errors import HoldfastError
from holdfast.log.parts import Content
from holdfast.memory import warm_up
from holdfast.model import Metadata
from holdfast.models.embedder import DeadlineExecutor
from holdfast.models.tokens import open_counter
from holdfast.serve.errors import failure_of
from holdfast.serve.inputs import field_names, input_class, read_arguments
from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.serve.rpc import Method, Params
from holdfast.settings import tuned

_log = logging.getLogger("holdfast")

_MESSAGE_FIELDS = frozenset({"role", "content", "id"})
"""Fields of a host's message that are not stored as metadata; nor are a time and an origin that are texts."""
Result = dict[str, object]


class ContextEngine:
    """The context engine that a host registers. `ownsCompaction`: it compacts by itself, so the host must not."""

    ownsCompaction = True

    def __init__(self, memories: Memories, rules: tuple[str, ...] = ()) -> None:
        self._memories = memories
        self._rules = rules
        self._seconds = tuned(memories.settings, ServeLimits).lifecycle_s
        self._deadline = DeadlineExecutor("the store")
        self._compaction_deadline = DeadlineExecutor(
            "the compaction"
        )  # a model may take minutes, and turns must not wait

    def methods(self) -> dict[str, Method]:
        return {
            "bootstrap": Method(self.bootstrap, field_names(_INPUTS["bootstrap"])),
            "ingest": Method(self.ingest, field_names(_INPUTS["ingest"])),
            "assemble": Method(self.assemble, field_names(_INPUTS["assemble"])),
            "compact": Method(self.compact, field_names(_INPUTS["compact"]), slow=True),
            "prompt_section": Method(self.prompt_section, field_names(_INPUTS["prompt_section"])),
        }

    def warm_up(self) -> None:
        """Load what assembling needs: the first call takes longer than the deadline."""
        if self._memories.namespace is not None:
            with self._memories.lend() as memory:
                warm_up(memory, self._rules)

    def bootstrap(self, params: Params) -> Result:
        """Create a session; calling it twice changes nothing."""
        made = self._run("bootstrap", params, self._bootstrap, {"ok": False})
        return {**made, "ownsCompaction": self.ownsCompaction}

    def ingest(self, params: Params) -> Result:
        """Store a message; `ingested` is true when it is on disk. The message's `id` is its idempotency key."""
        return self._run("ingest", params, self._ingest, {"ingested": False})

    def assemble(self, params: Params) -> Result:
        """Return the messages unchanged, and what memory adds to the system prompt."""
        messages = params.get("messages")
        given = messages if isinstance(messages, list) else []
        failed: Result = {"messages": given, "estimatedTokens": 0, "systemPromptAddition": ""}
        return self._run("assemble", params, self._assemble, failed)

    def compact(self, params: Params) -> Result:
        """Compact a session. It continues behind the host when it takes longer, and nothing is lost either way."""
        failed: Result = {"ok": False, "compacted": False}
        return self._run("compact", params, self._compact, failed, self._compaction_deadline)

    def prompt_section(self, params: Params) -> Result:
        """Return the namespace's standing records without a question, for an early pass before assembly."""
        return self._run("prompt_section", params, self._prompt_section, {"text": "", "tokens": 0, "ids": []})

    def _bootstrap(self, sessionId: str, userId: str | None = None) -> Result:
        with self._memories.lend(userId) as memory:
            memory.bootstrap(sessionId)
        return {"ok": True}

    def _ingest(
        self, sessionId: str, *, userId: str | None = None, message: Metadata, isHeartbeat: bool = False
    ) -> Result:
        """Each call is one message: a second "ok" is a second turn, unless it has the id of the first."""
        key = message.get("id")
        texts = {name: value for name in ("at", "origin") if isinstance(value := message.get(name), str)}
        with self._memories.lend(userId) as memory:
            turn = memory.ingest(
                cast("Content", "" if message.get("content") is None else message["content"]),  # ingest checks it
                role=str(message.get("role", "")),
                session=sessionId,
                at=texts.get("at"),
                key=None if key is None else str(key),
                origin=texts.get("origin"),
                heartbeat=isHeartbeat,
                metadata={name: value for name, value in message.items() if name not in _MESSAGE_FIELDS | texts.keys()},
            )
        return {"ingested": turn is not None}

    def _assemble(
        self,
        sessionId: str,
        *,
        userId: str | None = None,
        messages: list[Mapping[str, object]],
        tokenBudget: int | None = None,
    ) -> Result:
        with self._memories.lend(userId) as memory:
            made = memory.context(messages, sessionId, rules=self._rules, prompt_budget=tokenBudget)
        answer: Result = {
            "messages": messages,
            "estimatedTokens": made.tokens + self._count_tokens(messages),
            "systemPromptAddition": made.text,
        }
        if made.degraded is None:
            return answer
        return {**answer, "degraded": self._memories.redact(made.degraded, self._rules)}

    def _compact(
        self, sessionId: str, force: bool = False, targetSize: int | None = None, userId: str | None = None
    ) -> Result:
        """Ignore `targetSize`: a cluster has at most 20 turns (COMP-1)."""
        with self._memories.lend(userId) as memory:
            return {"ok": True, "compacted": memory.compact(sessionId, force).did_compact}

    def _prompt_section(self, userId: str | None = None) -> Result:
        with self._memories.lend(userId) as memory:
            made = memory.standing()
        return {"text": made.text, "tokens": made.tokens, "ids": [record.id for record in made.records]}

    def _run(
        self,
        name: str,
        params: Params,
        work: Callable[..., Result],
        failed: Result,
        deadline: DeadlineExecutor | None = None,
    ) -> Result:
        try:
            self._memories.check_owner(name, params)
            given = read_arguments(_INPUTS[name], params, name)
            return (deadline or self._deadline).run(lambda: work(**given), self._seconds)
        except Exception as error:  # API-3: the host continues; the log and the answer have the reason
            failure = failure_of(error)
            if isinstance(error, HoldfastError):
                _log.warning("the host continues without %s: %s", name, failure.logged)
            return {**failed, "error": {"type": failure.type, "message": failure.message, "advice": failure.advice}}

    def _count_tokens(self, messages: Sequence[Mapping[str, object]]) -> int:
        counter = open_counter(self._memories.settings.tokens)
        return sum(counter.count(_as_text(message.get("content"))) for message in messages)


_INPUTS = {
    name: input_class(name, getattr(ContextEngine, f"_{name}"))
    for name in ("bootstrap", "ingest", "assemble", "compact", "prompt_section")
}


def _as_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
