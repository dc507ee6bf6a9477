"""Retrieval measures and the two baselines."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing import HashEmbedder
from holdfast_bench.ask import (
    MEASURES,
    Bm25Baseline,
    Outcome,
    VectorBaseline,
    abstention,
    by_category,
    intervals,
    means,
    score,
)
from holdfast_bench.data import Haystack, Question, sample

AT = datetime(2024, 5, 1, tzinfo=UTC)
ITEMS = [f"t{number}" for number in range(60)]


def question(*gold: str, category: str = "any", answerable: bool = True) -> Question:
    return Question("q", "?", AT, category, frozenset(gold), frozenset(f"s{one}" for one in gold), answerable)


def outcome(asked: Question, *turns: str) -> Outcome:
    return Outcome(asked, turns, [f"s{turn}" for turn in turns])


def test_any_all_and_recall_differ() -> None:
    found = score(["a", "x", "b", "y", "z", "c"], {"a", "b", "c", "d"})
    assert (found["any@5"], found["all@5"], found["recall@5"]) == (1.0, 0.0, 0.5)
    assert (found["any@10"], found["all@10"], found["recall@10"]) == (1.0, 0.0, 0.75)
    assert found["mrr"] == 1.0


@pytest.mark.parametrize(
    ("rank", "any5", "any10", "mrr"), [(1, 1, 1, 1), (5, 1, 1, 0.2), (6, 0, 1, 1 / 6), (51, 0, 0, 0)]
)
def test_a_single_gold_item_counts_up_to_its_cut(rank: int, any5: float, any10: float, mrr: float) -> None:
    found = score(ITEMS, {ITEMS[rank - 1]})
    assert (found["any@5"], found["any@10"]) == (any5, any10)
    assert found["all@5"] == found["recall@5"] == found["any@5"]
    assert found["mrr"] == pytest.approx(mrr)


@given(st.permutations(ITEMS[:12]), st.sets(st.sampled_from(ITEMS[:15]), min_size=1))
def test_measures_are_ordered(ranking: list[str], gold: set[str]) -> None:
    found = score(ranking, gold)
    for cut in (5, 10):
        assert 0 <= found[f"all@{cut}"] <= found[f"recall@{cut}"] <= found[f"any@{cut}"] <= 1
    for measure in ("any", "all", "recall"):
        assert found[f"{measure}@5"] <= found[f"{measure}@10"]
    assert (found["mrr"] > 0) == bool(gold & set(ranking))


def test_means_leave_out_questions_without_gold() -> None:
    outcomes = [
        outcome(question("a"), "a"),
        outcome(question("a"), "b"),
        outcome(question("a", answerable=False), "a"),
        outcome(question(), "a"),
    ]
    found = means(outcomes, "turn")
    assert found is not None and found["any@5"] == 0.5
    assert means(outcomes[2:], "turn") is None and means(outcomes[2:], "session") is None


def test_categories_are_counted_separately() -> None:
    parts = by_category([outcome(question("a", category="one"), "a"), outcome(question("a", category="two"), "b")])
    assert list(parts) == ["one", "two"]
    assert parts["one"]["n"] == 1
    one, two = parts["one"]["turn"], parts["two"]["session"]
    assert isinstance(one, dict) and isinstance(two, dict)
    assert (one["mrr"], two["mrr"]) == (1.0, 0.0)


def test_an_interval_contains_its_mean_and_is_deterministic() -> None:
    outcomes = [outcome(question("a"), "a" if number % 3 else "b") for number in range(90)]
    found, mean = intervals(outcomes, "turn"), means(outcomes, "turn")
    assert found == intervals(outcomes, "turn") and found is not None and mean is not None
    for measure in MEASURES:
        low, high = found[measure]
        assert low <= mean[measure] <= high
    low, high = found["any@5"]
    assert 0.15 < high - low < 0.25, "two of three of 90: the textbook's interval is .195 wide"


def test_abstention_is_counted_by_answerability() -> None:
    outcomes = [
        outcome(question("a")),
        outcome(question("a"), "a"),
        outcome(question(answerable=False)),
    ]
    assert abstention(outcomes) == {"unanswerable": 1, "empty": 1.0, "answerable_empty": 0.5}
    assert abstention([]) == {"unanswerable": 0, "empty": None, "answerable_empty": None}


def test_a_sample_is_deterministic_and_from_all_haystacks() -> None:
    haystacks = [Haystack(f"h{number}", [], [question("a")] * 10) for number in range(4)]
    drawn = sample(haystacks, 20)
    assert [haystack.name for haystack in drawn] == ["h0", "h1", "h2", "h3"]
    assert sum(len(haystack.questions) for haystack in drawn) == 20
    assert drawn == sample(haystacks, 20)
    assert len(sample(haystacks, 1)) == 1
    assert sample(haystacks, None) == sample(haystacks, 99) == haystacks


def test_bm25_prefers_the_rare_word_the_repeated_word_and_the_shorter_text() -> None:
    rare = Bm25Baseline(["the oboe is here", "the cello is here", "a cello again"])
    assert rare.rank("an oboe and a cello")[0] == 0
    repeated = Bm25Baseline(["tea tea and tea", "tea with bread and", "nothing at all here"])
    assert repeated.rank("teas") == [0, 1]
    shorter = Bm25Baseline(["honey for sale at the old market in town", "honey for sale"])
    assert shorter.rank("honey") == [1, 0]


def test_bm25_is_the_textbook_formula() -> None:
    """Three texts of two words: ln(1 + 2.5/1.5) for a word of one text and ln(1 + 1.5/2.5) for a word of two."""
    bm25 = Bm25Baseline(["oboe cello", "cello drum", "drum flute"])
    # All texts are as long as the average and hold a word once, so a score is the sum of the words' rarities.
    one, two = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    assert bm25.scores("Oboes and a cello?") == pytest.approx({0: one + two, 1: two})


def test_plain_vectors_rank_by_cosine() -> None:
    vectors = VectorBaseline(["green bicycle", "grey kitten", "green kitten with a bicycle"], HashEmbedder())
    assert vectors.rank("grey kitten")[0] == 1
    assert sorted(vectors.rank("anything")) == [0, 1, 2]
