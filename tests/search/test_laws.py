"""Laws of ranking, on stores drawn by hypothesis."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.memory import Memory
from holdfast.testing import FixedClock, HashEmbedder
from tests.support.memories import QUICK

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOUNS = ["harbour", "ferry", "lighthouse", "anchor", "piano", "tomato", "bicycle", "letter"]
sentences = st.builds(
    "the {} and the {} {}".format, st.sampled_from(NOUNS), st.sampled_from(NOUNS), st.sampled_from(["left", "stayed"])
)
sessions = st.lists(st.lists(sentences, min_size=1, max_size=4), min_size=1, max_size=5)


def remember(path: Path, talks: Sequence[tuple[int, Sequence[str]]], others: Sequence[str] = ()) -> list[object]:
    """Ingest sessions in this order and ask; what was found, by text and session."""
    with Memory(path, "ana", embedder=HashEmbedder(), settings=QUICK, clock=FixedClock(NOON)) as memory:
        for number, texts in talks:
            at = NOON - timedelta(days=number + 1)
            memory.ingest_many([{"role": "user", "content": text, "at": at} for text in texts], session=f"s{number}")
        if others:
            with Memory(path, "ben", embedder=HashEmbedder(), settings=QUICK) as other:
                for text in others:
                    other.ingest(text)
                other.flush()
        memory.flush()
        return [
            [(hit.text, hit.session, round(hit.score, 3)) for hit in memory.search(noun, limit=50, kind="turn")]
            for noun in NOUNS
        ]


@pytest.mark.requirement("RECALL-1")
@settings(max_examples=12, deadline=None)
@given(sessions, st.randoms(use_true_random=False))
def test_the_order_in_which_sessions_were_ingested_changes_no_answer(talks: list[list[str]], random: object) -> None:
    ordered = list(enumerate(talks))
    shuffled = list(ordered)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as home:
        first = remember(Path(home) / "a.db", ordered)
        second = remember(Path(home) / "b.db", shuffled)
    assert [sorted(map(str, one)) for one in first] == [sorted(map(str, one)) for one in second]  # type: ignore[call-overload]


@pytest.mark.requirement("INV-4")
@settings(max_examples=12, deadline=None)
@given(sessions, st.lists(sentences, min_size=1, max_size=6))
def test_another_namespaces_turns_change_nothing(talks: list[list[str]], others: list[str]) -> None:
    ordered = list(enumerate(talks))
    with tempfile.TemporaryDirectory() as home:
        alone = remember(Path(home) / "a.db", ordered)
        beside = remember(Path(home) / "b.db", ordered, others)
    assert alone == beside


@pytest.mark.requirement("RECALL-2")
@settings(max_examples=12, deadline=None)
@given(
    st.lists(sentences, min_size=3, max_size=10),
    st.floats(0.1, 0.9),
    st.floats(0.0, 0.1),
    st.sampled_from(["tool_derived", "assistant_derived", "episode_summary", "user_stated"]),
)
def test_more_confidence_or_a_better_source_never_lowers_a_record(
    texts: list[str], confidence: float, more: float, provenance: str
) -> None:
    from holdfast.model import Action, Entry

    def rank(provenance: str, confidence: float) -> int:
        with (
            tempfile.TemporaryDirectory() as home,
            Memory(Path(home) / "m.db", "ana", embedder=HashEmbedder(), settings=QUICK) as memory,
        ):
            for text in texts:
                memory.ingest(text, role="assistant")
            said = {"text": "the harbour keeps", "kind": "fact", "provenance": provenance, "confidence": confidence}
            memory._store.act("ana", Action(Entry.REMEMBER, "r-1", NOON, said))
            memory.flush()
            found = [hit.id for hit in memory.search("harbour", limit=50)]
            return found.index("r-1")

    lower = rank(provenance, confidence)
    assert rank(provenance, confidence + more) <= lower
    assert rank("user_stated", confidence) <= lower
