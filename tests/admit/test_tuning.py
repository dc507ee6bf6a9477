"""The similarity threshold on one's own data: how often it fires, what it would merge, how often wrongly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.admit.tuning import draw, judgements_of_file, weigh
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK

SAID = (
    "The API of our shop runs on port 9090.",
    "Our shop's API runs on port 9090.",
    "I have two cats called Miso and Nori.",
    "My sister Anna lives in Rome and has two dogs.",
    "My sister Anna lives in Rome and has three dogs.",
    "I have two cats called Miso and Nori.",
)

pytestmark = pytest.mark.requirement("MERGE-6")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as opened:
        for number, text in enumerate(SAID):  # in the same conversation, saying it again would be no news
            opened.ingest(text, session=f"talk-{number}")
        opened.flush()
        yield opened


def test_each_threshold_tells_what_it_would_do_to_candidates_and_turns(memory: Memory) -> None:
    tuning = memory.tune_similarity([0.7, 0.9, 0.999])
    assert tuning.threshold == 0.9
    for figures in (tuning.records, tuning.turns):
        assert [one.threshold for one in figures] == [0.7, 0.9, 0.999]
        assert all(one.compared == len(SAID) for one in figures)
        assert all(one.triggers == one.copies + one.merges + one.stopped for one in figures)
        low, used, high = figures
        assert (low.copies, low.merges, low.stopped) == (1, 1, 1)  # the same, in other words, another number
        assert low.trigger_rate == 0.5
        assert low.triggers >= used.triggers >= high.triggers == high.copies == 1
        assert used.judged == 0 and used.false_merge_rate is None


def test_the_sample_shows_both_texts_and_leaves_copies_out(memory: Memory) -> None:
    sample = memory.tune_similarity([0.7], sample=10).sample
    assert {(pair.new, pair.old, pair.merges) for pair in sample} == {
        (SAID[1], SAID[0], True),
        (SAID[4], SAID[3], False),
    }
    assert all(pair.same is None and pair.reason for pair in sample)
    assert memory.tune_similarity([0.7], sample=10).sample == sample
    assert memory.tune_similarity([0.7], sample=0).sample == ()


def test_judged_pairs_give_the_false_merge_rate_of_each_threshold(memory: Memory) -> None:
    judged = [
        {"new": "a red mug", "old": "the red mug", "cosine": 0.95, "same": True, "of": "record"},
        {"new": "a red mug", "old": "a red mug,", "cosine": 0.85, "same": False, "of": "record"},
        {"new": "a red mug", "old": "a blue mug", "cosine": 0.95, "same": True, "of": "record"},
        {"new": "a red mug", "old": "the red mug", "cosine": 0.95, "same": None},
    ]
    low, high = memory.tune_similarity([0.8, 0.9], judged=judged).records
    assert (low.judged, low.false_merges, low.false_merge_rate, low.missed) == (2, 1, 0.5, 1)
    assert (high.judged, high.false_merges, high.false_merge_rate, high.missed) == (1, 0, 0.0, 1)


def test_the_answer_itself_filled_in_is_the_file_of_judgements(memory: Memory, tmp_path: Path) -> None:
    answer = plain(memory.tune_similarity([0.7], sample=10))
    assert isinstance(answer, dict)
    for pair in answer["sample"]:
        pair["same"] = pair["merges"]
    whole, lines = tmp_path / "answer.json", tmp_path / "pairs.jsonl"
    whole.write_text(json.dumps(answer))
    lines.write_text("".join(json.dumps(pair) + "\n\n" for pair in answer["sample"]))
    assert judgements_of_file(whole) == judgements_of_file(lines)
    tuning = memory.tune_similarity([0.7], judged=judgements_of_file(whole))
    assert sum(one.judged for one in (*tuning.records, *tuning.turns)) == 1
    assert sum(one.false_merges + one.missed for one in (*tuning.records, *tuning.turns)) == 0


def test_pairs_and_thresholds_that_cannot_be_used_are_named(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lies from 0\.6 to 1, not 0\.2"):
        memory.tune_similarity([0.2, 0.9])
    with pytest.raises(InputError, match="sample must be a whole number"):
        memory.tune_similarity(sample=-1)
    with pytest.raises(InputError, match='pair 1: "same" must be true, false or null'):
        memory.tune_similarity(judged=[{"new": "a", "old": "b", "cosine": 0.9, "same": "yes"}])
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"new": "a", "old": "b", "cosine": 0.9, "same": true}\nnonsense\n')
    with pytest.raises(InputError, match=r"pairs.jsonl:2: no JSON"):
        judgements_of_file(path)
    other = Memory(tmp_path / "other.db", "ana", embedder="none", settings=QUICK)
    with other, pytest.raises(InputError, match="needs an embedder"):
        other.tune_similarity()


def test_the_sample_is_mostly_of_merges_and_never_of_one_pair_twice() -> None:
    merges = [weigh(f"I like the mug number {n}", f"I like that mug number {n}", 0.95, "record") for n in range(30)]
    stopped = [weigh(f"I like mug {n}", f"I like mug {n + 1}", 0.95, "turn") for n in range(30)]
    assert all(pair.merges for pair in merges) and not any(pair.merges for pair in stopped)
    sample = draw([*merges, *merges, *stopped], 20)
    assert len({(pair.new, pair.old) for pair in sample}) == 20
    assert sum(pair.merges for pair in sample) == 15
    assert sum(pair.merges for pair in draw([*merges[:3], *stopped], 20)) == 3


@pytest.mark.requirement("ADMIT-7")
def test_a_secret_of_a_turn_is_not_shown_in_the_sample(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as memory:
        memory.ingest("The deploy key of the shop is AKIAIOSFODNN7EXAMPLE and stays in the vault.")
        memory.ingest("The deploy key of our shop is AKIAIOSFODNN7EXAMPLE and it stays in the vault.")
        memory.flush()
        sample = memory.tune_similarity([0.6], sample=10).sample
        assert sample and "AKIA" not in json.dumps(plain(sample))
