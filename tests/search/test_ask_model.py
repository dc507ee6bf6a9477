"""Search with the ask models: a second reading by meaning, reranking, abstention; and without them, as before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from holdfast.errors import FlushTimeout, InputError
from holdfast.index.candidates import CandidateTables
from holdfast.memory import Memory
from holdfast.model import Hits, Turn
from holdfast.models.ask import open_models
from holdfast.models.embedder import StaticEmbedder
from holdfast.search.ask import AskScores
from holdfast.settings import Settings
from holdfast.testing import FixedClock
from tests.support.ask_models import write_models

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
TALK = [
    "The shop on the corner repairs old radios, I left mine there on Monday.",
    "My daughter Mila has her recorder lesson on Tuesdays at four.",
    "We had to call the roofer, two tiles came down in the storm.",
    "I swim forty lengths before work, the pool opens at six.",
    "The allotment society raised its yearly fee to 85 euros.",
    "For the office party I bake the walnut cake of my aunt Renate.",
    "The ferry to the island leaves from pier nine.",
    "I lent the hedge trimmer to Mr Sandoval.",
    "Our cat Pixel refuses anything but tuna.",
    "The accountant wants all receipts by the end of March.",
]
LONG = " ".join(f"Then we talked about the {word} for a while and nobody agreed." for word in
                ("budget", "garden", "harbour", "meeting", "weather", "kitchen", "printer", "holiday", "concert",
                 "election", "bicycle", "museum")) + " The violin is kept in the attic."  # fmt: skip
Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path, static_embedder: StaticEmbedder, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open the store of the test with the given folder of weights, or without any."""

    def open_with(folder: Path | None) -> Memory:
        monkeypatch.setenv("HOLDFAST_MODELS", "none" if folder is None else str(folder))
        settings = replace(Settings(), admit=replace(Settings().admit, enabled=False))
        return Memory(
            tmp_path / "memory.db", "alex", embedder=static_embedder, settings=settings, clock=FixedClock(NOW)
        )

    return open_with


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("ask"))


def _talk(memory: Memory, texts: list[str] = TALK) -> None:
    for day, text in enumerate(texts):
        memory.ingest(text, at=NOW - timedelta(days=60 - 4 * day), session=f"day {day}")
    memory.flush()


def _stages(hits: Hits) -> dict[str, int]:
    return {stage.name: stage.count for stage in hits.receipt.stages}


@pytest.mark.requirement("RECALL-12")
def test_turns_records_and_passages_are_read_by_the_ask_model(opened: Open, models: Path) -> None:
    with opened(models) as memory:
        _talk(memory, [*TALK, LONG])
        memory.remember("The spare key hangs behind the mirror.")
        memory.flush()
        assert memory.status().ask.startswith("holdfast-ask|") and memory.status().ask_behind == 0
        hits = memory.search("Where is the violin?")
        assert hits[0].text == LONG
        assert _stages(hits)["ask"] >= len(TALK) + 2


def test_without_the_models_nothing_is_read_and_search_is_as_before(opened: Open, models: Path) -> None:
    with opened(None) as memory:
        _talk(memory)
        before = memory.search("What does the cat eat?")
        assert memory.status().ask == "" and "ask" not in _stages(before)
    with opened(models) as memory:
        memory.flush()
        assert "ask" in _stages(memory.search("What does the cat eat?"))
    with opened(None) as memory:
        assert list(memory.search("What does the cat eat?")) == list(before)


@pytest.mark.requirement("RECALL-12")
def test_other_weights_mean_that_turns_are_read_again(opened: Open, models: Path, tmp_path: Path) -> None:
    with opened(models) as memory:
        _talk(memory)
        first = memory.status().ask
    with opened(write_models(tmp_path / "other", seed=1)) as memory:
        assert memory.status().ask != first
        memory.flush()
        assert memory.status().ask_behind == 0
        assert _stages(memory.search("What does the cat eat?"))["ask"] >= len(TALK)


def test_turns_that_are_not_read_yet_are_found_beside_those_that_are(
    opened: Open, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(models) as memory:
        _talk(memory)
        monkeypatch.setattr("holdfast.worker.worker.Worker._read_for_questions", lambda self, namespace: 0)
        late = memory.ingest("The boiler was serviced by a plumber called Ines.", session="late")
        memory.ingest("We painted the garden fence green.", session="late")
        with pytest.raises(FlushTimeout):
            memory.flush(2.0)
        assert memory.status().ask_behind == 2
        hits = memory.search("Which plumber serviced the boiler?")
        assert late is not None and hits[0].id == late.id
        assert memory.search("Who refuses anything but tuna?")[0].text == TALK[8]


@pytest.mark.requirement("INV-3")
def test_a_vector_does_not_depend_on_the_other_texts(models: Path) -> None:
    found = open_models({"HOLDFAST_MODELS": str(models)})
    assert found is not None
    together = found.encoder.embed(TALK)
    assert np.array_equal(together, np.concatenate([found.encoder.embed([text]) for text in TALK]))
    assert not found.encoder.embed(["  "]).any()


def test_reranking_reads_the_first_hits_and_returns_the_same_ones(opened: Open, models: Path) -> None:
    with opened(models) as memory:
        _talk(memory)
        plain = memory.search("When is the lesson and who has the trimmer?", limit=10)
        ranked = memory.search("When is the lesson and who has the trimmer?", limit=10, rerank=True)
        assert {hit.id for hit in ranked} == {hit.id for hit in plain}
        assert _stages(ranked)["rerank"] >= 2 and "rerank" not in _stages(plain)


def test_reranking_without_time_leaves_the_order(opened: Open, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.search.rerank.RERANK_S", 1e-6)
    with opened(models) as memory:
        _talk(memory)
        plain, ranked = (
            memory.search("When is the lesson and who has the trimmer?", rerank=on) for on in (False, True)
        )
        assert [hit.id for hit in ranked] == [hit.id for hit in plain] and _stages(ranked)["rerank"] == 0


def test_reranking_without_the_models_says_what_to_install(opened: Open) -> None:
    with opened(None) as memory, pytest.raises(InputError, match=r"pip install \./models"):
        memory.search("Who has the trimmer?", rerank=True)


def test_a_folder_without_weights_is_an_error(opened: Open, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ask\.onnx\.gz"):
        opened(tmp_path)


@pytest.mark.parametrize(("threshold", "empty"), [(0.6, True), (0.4, False)])
def test_a_question_that_is_unlikely_to_be_answered_gets_nothing(
    opened: Open, tmp_path: Path, threshold: float, empty: bool
) -> None:
    with opened(write_models(tmp_path / "weights", threshold=threshold)) as memory:
        _talk(memory)
        hits = memory.search("Who has the trimmer?")
        assert (hits == []) is empty
        assert ("abstain" in _stages(hits)) is empty


def test_a_file_that_is_not_the_pinned_one_costs_the_reading_and_nothing_else(
    opened: Open, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(None) as memory:
        _talk(memory)
    with opened(models) as memory:
        memory.flush()
    monkeypatch.setattr("holdfast.models.ask.WeightsFile.run", _fail)
    with opened(models) as memory:
        hits = memory.search("What does the cat eat?")
        assert hits[0].text == TALK[8]
        assert hits.receipt.degraded is not None and "without the ask model" in hits.receipt.degraded


def _fail(*given: object) -> None:
    from holdfast.errors import ModelMisbehaved

    raise ModelMisbehaved("the file is damaged")


@pytest.mark.requirement("KEEP-3")
def test_the_doctor_does_not_count_ask_vectors_as_foreign(opened: Open, models: Path) -> None:
    with opened(models) as memory:
        _talk(memory, [*TALK, LONG])
        found = {one.check: one.count for one in memory.doctor().findings}
        assert found["mixed fingerprints"] == 0


@pytest.mark.requirement("KEEP-4")
def test_an_erased_long_turn_leaves_no_ask_vector(opened: Open, models: Path) -> None:
    with opened(models) as memory:
        _talk(memory, [*TALK, LONG])
        long = next(hit for hit in memory.search("Where is the violin?") if hit.text == LONG)
        made = memory.erase(turn=long.id, prove=True)
        assert made.proof is not None and made.proof.found == 0
        assert memory.search("Where is the violin?") == [] or memory.search("Where is the violin?")[0].text != LONG


OLDER, NEWER = "Our builds run on towers, our builds, not on runners.", "Our builds run on runners, not on towers."
"""The older one has the question's words more often; to the ask model both are alike."""


@pytest.mark.requirement("BEL-4")
@pytest.mark.parametrize(
    ("question", "speakers", "first"),
    [
        ("Where do our builds run?", ("", ""), NEWER),
        ("Where did our builds run?", ("", ""), OLDER),
        ("Where do our builds run?", ("Ana", "Ben"), OLDER),
        ("Where do our builds run?", ("Ana", "Ana"), NEWER),
    ],
)
def test_the_newer_of_two_equal_answers_comes_first(
    opened: Open, models: Path, question: str, speakers: tuple[str, str], first: str
) -> None:
    """Unless the past is asked about, or somebody else said it."""
    with opened(models) as memory:
        _talk(memory)
        for day, (text, speaker) in enumerate(zip((OLDER, NEWER), speakers, strict=True)):
            memory.ingest(text, at=NOW - timedelta(days=9 - day), session=f"{day}", metadata={"speaker": speaker})
        memory.flush()
        hits = memory.search(question)
        assert {hit.text for hit in hits[:2]} == {OLDER, NEWER}
        assert hits[0].text == first and hits[0].outdated_by is None and hits[1].outdated_by is None


@pytest.mark.requirement("BEL-4")
@pytest.mark.parametrize(
    ("near", "alike", "moved"),
    [((0.60, 0.59), 0.7, True), ((0.60, 0.57), 0.7, False), ((0.60, 0.59), 0.6, False), ((0.60, 0.9), 0.7, True)],
)
def test_the_newer_one_must_answer_as_well_and_be_about_the_same_matter(
    near: tuple[float, float], alike: float, moved: bool
) -> None:
    vectors = {0: [1.0, 0.0], 1: [alike, (1 - alike**2) ** 0.5]}
    view = SimpleNamespace(
        vectors=lambda space, fingerprint, nums: [(num, np.array(vectors[num], "<f4").tobytes()) for num in nums]
    )
    table = SimpleNamespace(view=view, space=None, pool=SimpleNamespace(size=2))
    tables = cast(CandidateTables, SimpleNamespace(parts=[table], starts=[0]))
    scores = AskScores(np.array(near, np.float32), np.array([True, True]), np.array([], np.int64), "x")
    said = {at: cast(Turn, SimpleNamespace(at=NOW + timedelta(days=at), metadata={})) for at in (0, 1)}
    assert scores.newer_first(tables, [0, 1], said, "Where do our builds run?") == ([1, 0] if moved else [0, 1])


@pytest.mark.requirement("BEL-5")
def test_questions_of_the_user_do_not_steer_a_later_search(opened: Open) -> None:
    """Relevance feedback raises what is like the first hits: questions among them would raise what was asked."""
    asked = [f"Where do we keep the spare {thing}?" for thing in ("tyre", "bulbs", "fuses", "blankets")]
    key = "Our key hangs behind the mirror in the hall."
    others = "We keep the spare tyre, the spare bulbs and the fuses in the shed."
    with opened(None) as memory:
        for day, text in enumerate([*TALK, key, others, *asked]):
            memory.ingest(text, at=NOW - timedelta(days=60 - 3 * day), session=f"day {day}")
        memory.flush()
        hits = [hit.text for hit in memory.search("Where is the spare key kept?")]
        assert hits.index(key) < hits.index(others)


@pytest.mark.requirement("BEL-5")
def test_a_long_request_that_tells_something_is_not_taken_for_a_question_alone(opened: Open) -> None:
    """Regression: it came after everything else, and BEAM's recall@10 was .43 instead of .62."""
    request = (
        "Can you help me plan the money for the bakery in Porto that I run with my two brothers since last spring, "
        "so that we pay the second oven off before the winter?"
    )
    with opened(None) as memory:
        _talk(memory, [*TALK, request, "Is the bakery open?", "The money for the roofer is late."])
        hits = [hit.text for hit in memory.search("the bakery in Porto and its money")]
        assert hits[0] == request and hits[-1] == "Is the bakery open?"


@pytest.mark.requirement("BEL-5")
def test_a_statement_that_ends_in_a_question_is_evidence(opened: Open) -> None:
    """Regression: what tells something and then asks came after every statement, however far from the question."""
    opening = "My sister Ana opened a bakery called Crumb in Porto last spring, do you think that is brave?"
    ovens = "Crumb in Porto has two ovens now and my sister wants a third, should she buy it?"
    other = "The business of my neighbour is a garage with two lifts."
    with opened(None) as memory:
        _talk(memory, [*TALK, other, opening, ovens, "What is a business plan?"])
        hits = [hit.text for hit in memory.search("What business does my sister have in Porto?")]
        assert set(hits[:2]) == {opening, ovens}
        assert hits.index(other) < hits.index("What is a business plan?")
