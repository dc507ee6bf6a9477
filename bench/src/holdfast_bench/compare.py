"""Holdfast next to plain BM25 and mem0: the same turns, the same questions, the same measures.

mem0 runs only where the package mem0ai is installed, and without a language model (`infer=False`): it then stores every
message as it is and searches the vectors of Holdfast's embedder in a local Qdrant. With a model it would extract facts
instead, so its figures here are those of its storage and search alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from holdfast.models.embedder import Embedder
from holdfast.probe.metrics import DIGITS
from holdfast_bench import locomo as locomo_set
from holdfast_bench.ask import DEPTH, AskOptions, Bm25Baseline, Outcome, ask, means, outcome_of, settings_of
from holdfast_bench.data import Haystack, Question, SetSession, SetTurn, sample
from holdfast_bench.life import LifeQuestion, read_life
from holdfast_bench.machine import CachingEmbedder, Progress, run_info
from holdfast_bench.memories import bench_embedder

_CONVERSATIONS = 5  # of LoCoMo: the development half
_FIRST = 3

Rank = Callable[[Haystack], Iterator[Outcome]]


def run(locomo: Path, life: Path, options: AskOptions, progress: Progress | None = None) -> dict[str, object]:
    started = time.perf_counter()
    settings = settings_of(options)
    sets = {"locomo": locomo_set.read([locomo])[:_CONVERSATIONS], "life": [read_life_set(life)]}
    mem0, note = _mem0_version()
    with closing(bench_embedder(settings)) as opened, tempfile.TemporaryDirectory(prefix="holdfast-mem0-") as home:
        embedder = CachingEmbedder(opened)
        systems: dict[str, Rank] = {"holdfast": lambda haystack: ask(haystack, settings, embedder), "bm25": _ask_bm25}
        if mem0 is not None:
            systems["mem0"] = lambda haystack: _ask_mem0(haystack, embedder, Path(home))
        figures = {
            name: _compare(name, sample(haystacks, options.limit), systems, progress)
            for name, haystacks in sets.items()
        }
    return {
        "sets": figures,
        "records": settings.admit.enabled,
        "mem0": mem0,
        "note": note,
        **run_info(started, embedder),
    }


def read_life_set(path: Path) -> Haystack:
    """Read a life as sessions and questions with gold turns."""
    life = read_life(path)
    sessions = [
        SetSession(name, turns[0].at, [SetTurn(turn.id, turn.role, turn.text) for turn in turns])
        for name, turns in life.sessions()
    ]

    def question(one: LifeQuestion) -> Question:
        gold = frozenset(one.turns)
        return Question(
            one.id, one.text, one.at, one.kind, gold, frozenset(life.turn[turn].session for turn in gold), one.known
        )

    return Haystack(life.name, sessions, [question(one) for one in life.questions])


def _compare(
    name: str, haystacks: Sequence[Haystack], systems: dict[str, Rank], progress: Progress | None
) -> dict[str, object]:
    figures: dict[str, object] = {}
    counted = 0
    for number, (system, rank) in enumerate(systems.items()):
        if progress is not None:
            progress(f"{name}: {system}", number, len(systems))
        outcomes = [one for one in chain.from_iterable(map(rank, haystacks)) if one.question.counts]
        counted = len(outcomes)
        found = means(outcomes, "turn") or {}
        first = sum(not one.question.turns.isdisjoint(one.turns[:_FIRST]) for one in outcomes) / max(counted, 1)
        figures[system] = {
            "recall@10": found.get("recall@10"), "mrr": found.get("mrr"), "first_3": round(first, DIGITS)
        }  # fmt: skip
    return {"questions": counted, "turns": sum(len(_turns(one)) for one in haystacks), "systems": figures}


def _turns(haystack: Haystack) -> list[tuple[SetTurn, str]]:
    return [(turn, session.session) for session in haystack.sessions for turn in session.turns]


def _text(turn: SetTurn) -> str:
    """Return the text with the speaker's name, without which the other systems would be weaker than necessary."""
    return turn.text if turn.speaker is None else f"{turn.speaker}: {turn.text}"


def _ask_bm25(haystack: Haystack) -> Iterator[Outcome]:
    turns = _turns(haystack)
    index = Bm25Baseline([_text(turn) for turn, _ in turns])
    for question in haystack.questions:
        yield outcome_of(question, [(turns[at][0].id, turns[at][1]) for at in index.rank(question.text)])


def _mem0_version() -> tuple[str | None, str]:
    try:
        found = version("mem0ai")
    except PackageNotFoundError:
        return None, "mem0 was left out: install mem0ai into this environment to compare with it"
    return found, f"mem0 {found} ran without a language model (infer=False), on the same embedder and a local Qdrant"


def _ask_mem0(haystack: Haystack, embedder: Embedder, home: Path) -> Iterator[Outcome]:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home / "mem0")}  # read when mem0 is imported
    from mem0 import Memory as Mem0

    class LocalEmbedder:
        """Stands in for mem0's embedding model, which needs a network."""

        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            return [float(value) for value in embedder.embed([text])[0]]

        def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
            return [self.embed(text) for text in texts]

    place = home / haystack.name
    dims = embedder.profile.dims
    memory = Mem0.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(place / "qdrant"), "embedding_model_dims": dims, "on_disk": True},
            },
            "llm": {"provider": "openai", "config": {"api_key": "none", "model": "none"}},  # never called
            "embedder": {"provider": "openai", "config": {"api_key": "none", "embedding_dims": dims}},
            "history_db_path": str(place / "history.db"),
        }
    )
    memory.embedding_model = LocalEmbedder()
    places: dict[str, tuple[str, str]] = {}
    for turn, session in _turns(haystack):
        message = {"role": turn.role, "content": _text(turn)}
        for added in memory.add([message], user_id="user", infer=False)["results"]:
            places[added["id"]] = (turn.id, session)
    for question in haystack.questions:
        found = memory.search(question.text, filters={"user_id": "user"}, top_k=DEPTH, threshold=0.0)["results"]
        yield outcome_of(question, [places[one["id"]] for one in found])
