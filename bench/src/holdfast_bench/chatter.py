"""Synthetic chat turns for measuring speed: any number, always the same for the same seed, without a data file.

Speed depends on how often words repeat, so that is copied from real chats: word frequencies fall with rank (Zipf),
sessions have a topic, turns have 5 to 60 words, and a long tail of names, numbers and identifiers keeps adding words
that occur once or twice. The turns make no sense.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, cycle, islice
from pathlib import Path

from holdfast.errors import InputError
from holdfast.models.embedder import shipped_vocabulary
from holdfast_bench.data import read_text

Message = dict[str, object]
"""Input of Memory.ingest_many."""
Session = tuple[str, list[Message]]

SESSION = 100
"""Turns per session."""
_START = datetime(2025, 1, 1, tzinfo=UTC)
_STEP = timedelta(minutes=3)
# Zipf–Mandelbrot, with the usual values for English: weight = 1 / (rank + 2.7) ** 1.07.
_SHIFT, _FALL = 2.7, 1.07
_TOPIC_WORDS = 60
_TOPIC_SHARE = 0.3
_RARE_SHARE = 0.015
"""Share of names, numbers and identifiers; at 100k turns they are more than half of all distinct terms."""
_OPENERS = (
    "what did I say about", "do you remember", "when did we talk about", "where is", "which", "tell me about",
    "who said", "how did it go with", "did I ever mention", "what was the thing with",
)  # fmt: skip


class _Words:
    """Draws words from the shipped vocabulary, which is ordered by frequency, and invents rare ones."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.known = [word for word in shipped_vocabulary() if word.isascii() and word.isalpha() and len(word) > 1]
        self._weights = list(accumulate(1.0 / (rank + _SHIFT) ** _FALL for rank in range(1, len(self.known) + 1)))

    def common(self, count: int) -> list[str]:
        return self._chance.choices(self.known, cum_weights=self._weights, k=count)

    def topic(self) -> list[str]:
        """Return the topic words of a session: neither the most frequent nor only rare ones."""
        return [self.known[int(200 * (len(self.known) / 200) ** self._chance.random())] for _ in range(_TOPIC_WORDS)]

    def rare(self) -> str:
        chance, known = self._chance, self.known
        return chance.choice(
            (
                f"{chance.choice(known)}{chance.choice(known)}".capitalize(),
                f"{chance.choice(known)}-{chance.randrange(10_000)}",
                str(chance.randrange(100_000)),
                f"{chance.choice(known)}_{chance.choice(known)}.py",
            )
        )


def chatter(turns: int, seed: int = 0) -> Iterator[Session]:
    """Yield sessions of synthetic turns, alternating user and assistant, with that many turns in total."""
    chance = random.Random(f"chatter {seed}")
    words = _Words(chance)
    for number, first in enumerate(range(0, turns, SESSION)):
        topic = words.topic()
        texts = [_make_text(chance, words, topic) for _ in range(min(SESSION, turns - first))]
        yield f"s{number}", _messages(texts, first)


def questions(sessions: Sequence[Session], count: int, seed: int = 0) -> list[str]:
    """Return questions about the turns: an opener and a few words of some turn."""
    chance = random.Random(f"questions {seed}")
    asked = []
    for number in range(count):
        _, messages = chance.choice(sessions)
        said = str(chance.choice(messages)["content"]).replace(".", " ").split() or ["nothing"]
        picked = chance.sample(said, min(len(said), chance.randint(2, 6)))
        asked.append(f"{_OPENERS[number % len(_OPENERS)]} {' '.join(picked)[:400]}?")
    return asked


def read_messages(path: Path, turns: int) -> Iterator[Session]:
    """Yield real chat from a JSONL file (may be .gz) of texts or {"role", "content"}, repeated as needed."""
    lines = read_text(path).split("\n")
    lines_read = [_read_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not lines_read:
        raise InputError(f"{path} contains no chat messages")
    endless = cycle(lines_read)
    for number, first in enumerate(range(0, turns, SESSION)):
        messages = _messages([], first)
        for index, (role, text) in enumerate(islice(endless, min(SESSION, turns - first))):
            messages.append({"role": role, "content": text, "at": _START + (first + index) * _STEP})
        yield f"s{number}", messages


def _read_line(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {number}: not JSON ({error})") from error
    if isinstance(value, str):
        return "user", value
    if isinstance(value, dict) and isinstance(text := value.get("content", value.get("text")), str):
        return str(value.get("role", "user")), text
    raise InputError(f'{path}, line {number}: neither a text nor an object with "content"')


def _messages(texts: Sequence[str], first: int) -> list[Message]:
    return [
        {"role": "assistant" if index % 2 else "user", "content": text, "at": _START + (first + index) * _STEP}
        for index, text in enumerate(texts)
    ]


def _make_text(chance: random.Random, words: _Words, topic: Sequence[str]) -> str:
    length = min(60, max(5, int(chance.lognormvariate(2.9, 0.6))))  # median 18 words
    said = words.common(length)
    for place in range(length):
        kind = chance.random()
        if kind < _RARE_SHARE:
            said[place] = words.rare()
        elif kind < _RARE_SHARE + _TOPIC_SHARE:
            said[place] = chance.choice(topic)
    for start in range(0, length, 12):
        said[start] = said[start][:1].upper() + said[start][1:]
        if start:
            said[start - 1] += "."
    return " ".join(said) + "."


def first(sessions: Sequence[Session], turns: int) -> list[Message]:
    """Return the first messages of all sessions."""
    return [message for _, messages in sessions[: turns // 10 + 1] for message in messages][:turns]


def upto(sessions: Sequence[Session], turns: int) -> list[Session]:
    """Return the sessions up to that many turns, the last one cut."""
    part: list[Session] = []
    for session, messages in sessions:
        if turns <= 0:
            break
        part.append((session, messages[:turns]))
        turns -= len(messages)
    return part
