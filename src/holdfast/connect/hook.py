"""`holdfast hook HOST`: one event of a host, read from stdin; what the model should know goes to stdout.

A hook must not slow a turn down and must never fail it: it exits 0 whatever happens and writes errors to a file. It
asks a running server of the same store (socket.py), which takes some 40 ms; only without one does it load the memory
itself. So it imports the standard library alone until then, and not the command line.

    SessionStart       what is known about the user, and the user's rules
    UserPromptSubmit   what the prompt is about
    Stop, PreCompact, SessionEnd    keep what was said since the last time
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence

from holdfast.connect.socket import ask, hook_folder
from holdfast.importers.claude_code import Message, own_texts, read_new, session_name

Event = Mapping[str, object]

_BUDGET, _STANDING = 1000, 500  # tokens
_SHOWN_BYTES = 256 * 1024  # of the transcript's end: what the host's own prompt holds is not recalled again
_SHOWN = 40  # messages
_PART_BYTES = 4 * 1024 * 1024  # of a transcript that are kept in one call
_MOST_BYTES = 64 * 1024 * 1024  # … and by one hook: a long session that was never kept is caught up over several
_FLUSH_S, _POLL_S = 0.6, 0.05  # how long the last answer may take to reach the transcript
_ANSWER_S = 5.0  # for a server to answer
_DEADLINE_S = 3.0  # for a context in this process: loading the memory takes most of it
_LATER_S = 3600.0
_AGAIN_S = (0.3, 0.6)  # after a degraded answer
_MOST_LOG = 100_000  # bytes of the error log
_INPUT = 64 * 1024 * 1024


class HookMemory:
    """The memory that a hook belongs to: a running server's, or else its own."""

    def __init__(self, store: str, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self.folder = hook_folder(store)

    def call(self, verb: str, **given: object) -> Mapping[str, object]:
        """Call a verb; the answer as JSON values."""
        answer = ask(self.folder, verb, {**given, "userId": self._namespace}, _ANSWER_S)
        return self._load(verb, given) if answer is None else answer

    def _load(self, verb: str, given: dict[str, object]) -> Mapping[str, object]:
        import gc
        from dataclasses import replace

        gc.disable()  # a tenth of the time, in a process that ends in a moment

        from holdfast.index.blocks import IndexSizes
        from holdfast.memory import Memory
        from holdfast.settings import load_settings

        settings = load_settings()
        settings = replace(
            settings,
            context=replace(settings.context, deadline_s=_DEADLINE_S),
            # Embedding and admission are left to the next process that stays longer: a server, or a command.
            _tuning=(IndexSizes(gather_s=_LATER_S, gather_most_s=_LATER_S),),
            compact=replace(settings.compact, automatic=False),
        )
        with Memory(self._store, self._namespace, settings=settings) as memory:
            made = getattr(memory, verb)(**given)
        return {"text": getattr(made, "text", "")}


def run(event: Event, target: HookMemory) -> dict[str, object] | None:
    """Answer one event of Claude Code; None if there is nothing to say."""
    name = event.get("hook_event_name")
    if name == "SessionStart":
        text = target.call("standing", tokens=_STANDING)["text"]
    elif name == "UserPromptSubmit":
        text = _recall(event, target)
    else:
        _keep(event, target)
        return None
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}} if text else None


def _recall(event: Event, target: HookMemory) -> object:
    """Return the context of a prompt. A server that missed its deadline is asked again: a hook has more time."""
    messages = _messages(event)
    for wait in (*_AGAIN_S, None):
        answer = target.call("context", messages=messages, session="claude-code", budget=_BUDGET)
        if answer["text"] or not answer.get("degraded") or wait is None:
            break
        time.sleep(wait)
    return answer["text"]


def _messages(event: Event) -> list[Message]:
    """Return the end of the conversation, which the model has before it, and the prompt."""
    shown: list[Message] = []
    path = str(event.get("transcript_path") or "")
    if path and os.path.exists(path):
        start = max(0, os.path.getsize(path) - _SHOWN_BYTES)
        shown = own_texts(read_new(path, start, _SHOWN_BYTES)[0])[-_SHOWN:]
    return [*shown, {"role": "user", "content": str(event.get("prompt") or "")}]


def _keep(event: Event, target: HookMemory) -> None:
    """Store what the transcript says since the last time; keys make a second time harmless."""
    path, session = str(event.get("transcript_path") or ""), str(event.get("session_id") or "")
    if not os.path.exists(path) or not session:
        return
    state = os.path.join(target.folder, f"{session[:100].replace(os.sep, '_')}.offset")
    start = offset = _read_offset(state)
    last = str(event.get("last_assistant_message") or "").strip()
    waited = time.monotonic() + _FLUSH_S
    while offset - start < _MOST_BYTES:
        messages, end = read_new(path, offset, _PART_BYTES)
        if last and end - offset < _PART_BYTES and not _holds(messages, last) and time.monotonic() < waited:
            time.sleep(_POLL_S)  # the host may still be writing it
            continue
        if messages:
            target.call("ingest_many", messages=messages, session=session_name(session))
        if end == offset:
            break
        offset = end
        last = ""
    if event.get("hook_event_name") == "SessionEnd":
        if os.path.exists(state):
            os.unlink(state)
    elif offset != start:
        _write_offset(state, offset)


def _holds(messages: Sequence[Message], text: str) -> bool:
    return any(text in str(one["content"]) for one in own_texts(messages))


def _read_offset(state: str) -> int:
    try:
        with open(state, encoding="ascii") as file:
            return max(0, int(file.read()))
    except (OSError, ValueError):
        return 0


def _write_offset(state: str, offset: int) -> None:
    os.makedirs(os.path.dirname(state), mode=0o700, exist_ok=True)
    with open(f"{state}.new", "w", encoding="ascii") as file:
        file.write(str(offset))
    os.replace(f"{state}.new", state)


# --- the process


def main(args: Sequence[str]) -> int:
    """Run `hook HOST --store PATH --namespace NAME`; always 0."""
    folder = ""
    try:
        store, namespace = _options(args)
        target = HookMemory(store, namespace)
        folder = target.folder
        answer = run(json.loads(sys.stdin.buffer.read(_INPUT)), target)
        if answer is not None:
            sys.stdout.write(json.dumps(answer))
            sys.stdout.flush()
    except BaseException as error:  # whatever it is, the host's turn goes on
        _log(folder, error)
    return 0


def _options(args: Sequence[str]) -> tuple[str, str]:
    given = dict(zip(args[1::2], args[2::2], strict=False))
    store, namespace = given.get("--store"), given.get("--namespace")
    if args[:1] != ["claude-code"] or not store or not namespace:
        raise ValueError(f"usage: holdfast hook claude-code --store PATH --namespace NAME, not {list(args)}")
    return store, namespace


def _log(folder: str, error: BaseException) -> None:
    """Write the error aside: to a file in the folder of the hooks, or else to stderr."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {type(error).__name__}: {error}\n"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "errors.log")
        fresh = not os.path.exists(path) or os.path.getsize(path) > _MOST_LOG
        with open(path, "w" if fresh else "a", encoding="utf-8") as file:
            file.write(line)
    except (OSError, ValueError):
        sys.stderr.write(f"holdfast: {line}")
