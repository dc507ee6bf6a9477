"""The sample month told again: the same once more, and some of its sessions in other words.

A paraphrased message names the message it repeats (`same_as`, a key of holdfast/demo/month.jsonl), so a merge can be
checked: one into a record of another message is a suspect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from holdfast.demo import NAMESPACE, month
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.models.breaker import GuardedEmbedder
from holdfast.settings import Settings
from holdfast.text.time import read_moment, utc_now
from holdfast_bench.admission import Progress, admitting, became, share

_LATER = timedelta(days=60)
# What the receipts of a turn say of its candidates (admit/place.py).
_ANEW = ("added", "replaces", "superseded")
_KNOWN = ("merged", "dropped")

_Message = dict[str, object]


def is_paraphrase(content: str) -> bool:
    return content.lstrip().startswith("{") and '"same_as"' in content.partition("\n")[0]


def measure_month(settings: Settings, embedder: GuardedEmbedder, tell: Progress) -> dict[str, object]:
    """Records that the month adds when it is handed over again, and when all of it is said again two months later."""
    messages = _read_month()
    with admitting(settings, embedder) as memory_of, memory_of(NAMESPACE) as memory:
        first = _records(memory, _ingest(memory, messages))
        tell("the month", 1, 3)
        again = _records(memory, _ingest(memory, messages))
        tell("the month, handed over again", 2, 3)
        turns = _ingest(memory, [_said_later(message) for message in messages])
        tell("the month, said again", 3, 3)
        outcomes = _outcomes(memory, turns)
    return {
        "month_records": len(first),
        "same_month_twice_added": len(again - first),
        "said_again_n": outcomes.total(),
        "said_again_added": share(sum(outcomes[what] for what in _ANEW), outcomes.total()),
    }


def measure_paraphrase(
    retold: Sequence[tuple[Path, str]], settings: Settings, embedder: GuardedEmbedder, tell: Progress
) -> dict[str, object]:
    """Of what the paraphrase's turns yield, the share that became a record of its own; and every merge, to look at.

    Only the sessions that it repeats are remembered before: what changed later in the month would be news again.
    """
    if not retold:
        return {"paraphrased_n": 0, "paraphrased_added": None, "suspect_merges": None, "merges": []}
    messages = [message for path, content in retold for message in _read_paraphrase(path, content)]
    known = {str(message["key"]): message for message in _read_month()}
    if unknown := [message["same_as"] for message in messages if message["same_as"] not in known]:
        raise InputError(f"same_as {unknown[0]!r} is no message of the sample month")
    sessions = {known[str(message["same_as"])]["session"] for message in messages}
    with admitting(settings, embedder) as memory_of, memory_of(NAMESPACE) as memory:
        said = _ingest(memory, [message for message in known.values() if message["session"] in sessions])
        same = {turn.key: turn.id for turn in said}
        turns = _ingest(memory, [{**message, "same_as": None} for message in messages])
        tell("the month in other words", 1, 1)
        outcomes = _outcomes(memory, turns)
        meant = {message["key"]: same.get(str(message["same_as"])) for message in messages}
        merges = [merge for turn in turns for merge in _merges(memory, turn, meant[turn.key])]
    return {
        "paraphrased_n": outcomes.total(),
        "paraphrased_added": share(sum(outcomes[what] for what in _ANEW), outcomes.total()),
        "suspect_merges": sum(not merge.expected for merge in merges),
        "merges": [{"new": one.new, "into": one.into, "expected": one.expected} for one in merges],
    }


@dataclass(frozen=True, slots=True)
class _Merge:
    new: str
    into: str
    expected: bool
    """The record comes from the message that this one repeats."""


def _merges(memory: Memory, turn: Turn, meant: str | None) -> Iterable[_Merge]:
    for decision in memory.why(turn.id).decisions:
        if decision.what == "merged":
            record = memory.why(str(decision.details["record"]))
            sources = [source for source in record.turns if source.id != turn.id]
            yield _Merge(
                turn.text, " / ".join(source.text for source in sources), any(one.id == meant for one in sources)
            )


def _records(memory: Memory, turns: Sequence[Turn]) -> set[str]:
    """Every record that came of the turns, live or not."""
    return {record.id for turn in turns for record in became(memory, turn.id).records}


def _outcomes(memory: Memory, turns: Sequence[Turn]) -> Counter[str]:
    """How often each thing was decided about what the turns yielded."""
    told = [decision.what for turn in turns for decision in memory.why(turn.id).decisions]
    return Counter(what for what in told if what in (*_ANEW, *_KNOWN))


def _read_month() -> list[_Message]:
    return [json.loads(line) for line in month().read_text(encoding="utf-8").splitlines()]


def _read_paraphrase(path: Path, content: str) -> list[_Message]:
    messages: list[_Message] = []
    for number, line in enumerate(filter(str.strip, content.split("\n")), 1):
        try:
            message = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(message, dict) or not {"session", "role", "content", "key", "same_as"} <= message.keys():
            raise InputError(f"{path}:{number}: a paraphrase has session, role, content, key and same_as")
        messages.append(message)
    return messages


def _said_later(message: Mapping[str, object]) -> _Message:
    """The same words as new turns: another session, no key in common, two months on."""
    at = read_moment(str(message["at"]), utc_now()) + _LATER
    return {**message, "session": f"{message['session']} again", "key": f"{message['key']} again", "at": at}


def _ingest(memory: Memory, messages: Iterable[Mapping[str, object]]) -> list[Turn]:
    """The messages, session by session, and then all that follows from them."""
    sessions: dict[str, list[dict[str, object]]] = {}
    for message in messages:
        rest = {name: value for name, value in message.items() if name not in ("session", "same_as")}
        sessions.setdefault(str(message["session"]), []).append(rest)
    turns = [turn for session, some in sessions.items() for turn in memory.ingest_many(some, session=session)]
    memory.flush()
    return turns
