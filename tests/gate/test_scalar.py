"""The scalar: its formula, its six invariants, and what it decides."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.gate.salience import judge
from holdfast.gate.score import Signals, blend, decide, novelty, score
from holdfast.models.embedder import Thresholds
from holdfast.settings import GateSettings, GateWeights, TechnicalWeights, load_settings

SETTINGS = GateSettings()
MINILM = Thresholds(repeat=0.80, known=0.85, same=0.92, related=0.20, boost=0.78, relevant=0.48)

PERSONAL = "My sister Anna lives in Rome and has two dogs"
MIXED = "I prefer src/app/main.py over https://example.org on Mondays"
CODE = """```
panic: runtime error
$ git push
```
fixed the crash in cart.py, see https://a.example and 9c41f7e
def f(x):"""

cosines = st.floats(-1, 1, allow_nan=False)
hits = st.lists(cosines, max_size=15)
units = st.floats(0, 1, allow_nan=False)
texts = st.sampled_from(["", "hi", PERSONAL, MIXED, CODE]) | st.text(max_size=200)


def judged(text: str, memory: list[float] | None = None, turns: list[float] | None = None) -> Signals:
    return score(text, memory or [], turns or [], SETTINGS, MINILM)


# The formula.


@pytest.mark.requirement("GATE-3")
def test_novelty_is_one_minus_the_mean_cosine_and_opposites_count_as_unrelated() -> None:
    assert novelty([0.75, -0.25]) == 0.625
    assert judged(PERSONAL, [0.75, -0.25]).h == 0.625
    assert novelty([]) == 1
    assert novelty([1.0000001, 1.0]) == 0  # rounding of a dot product


@pytest.mark.requirement("GATE-3", "GATE-4")
def test_only_the_nearest_5_records_and_10_turns_count_in_any_order() -> None:
    near = judged(PERSONAL, [0.9, 0.8, 0.7, 0.6, 0.5])
    assert judged(PERSONAL, [0.1, 0.5, 0.6, 0.0, 0.9, 0.7, 0.8]) == near
    assert judged(PERSONAL, [], [0.9] * 4 + [0.1] * 6).input_freq == pytest.approx(0.8)
    assert judged(PERSONAL, [], [0.1] * 40 + [0.9] * 4).input_freq == pytest.approx(0.8)
    assert judged(PERSONAL, [], [0.81] * 20).input_freq == 1


@pytest.mark.requirement("GATE-4")
def test_repetition_is_frequency_times_what_memory_does_not_know_yet() -> None:
    one = judged(PERSONAL, [0.85, 0.84], [0.80, 0.79, 0.95])
    assert one.input_freq == pytest.approx(2 / 5)
    assert one.mem_saturation == pytest.approx(1 / 3)
    assert one.r == pytest.approx(2 / 5 * 2 / 3)
    assert judged(PERSONAL, [0.9, 0.9, 0.9], [0.9] * 10).r == 0


@pytest.mark.requirement("GATE-4")
def test_the_thresholds_are_those_of_the_embedder() -> None:
    static = replace(MINILM, repeat=0.765, known=0.82)
    signals = score(PERSONAL, [0.82], [0.77], SETTINGS, static)
    assert signals.input_freq == pytest.approx(1 / 5)
    assert signals.mem_saturation == pytest.approx(1 / 3)
    assert judged(PERSONAL, [0.82], [0.77]).r == 0


def test_the_branches_are_weighted_as_the_specification_says() -> None:
    one = judged(CODE, [0.5, 0.1], [0.9, 0.9])
    assert one.gconv == pytest.approx(0.35 * one.h + 0.40 * one.r + 0.25 * one.d)
    assert one.gtech == pytest.approx(0.40 * one.p + 0.35 * one.a + 0.25 * one.dtech)
    assert one.g == pytest.approx((1 - one.t) * one.gconv + one.t * one.gtech)


@pytest.mark.requirement("GATE-9")
@given(text=texts, memory=hits, turns=hits)
def test_the_same_text_hits_and_settings_give_the_same_signals(
    text: str, memory: list[float], turns: list[float]
) -> None:
    assert judged(text, memory, turns) == judged(text, memory, turns)


# The six invariants, and the seventh.


@pytest.mark.requirement("GATE-10")
@given(text=texts, turns=hits)
def test_empty_memory_means_full_novelty(text: str, turns: list[float]) -> None:
    assert judged(text, [], turns).h == 1


@pytest.mark.requirement("GATE-10")
@given(text=texts, known=st.lists(st.floats(0.85, 1), min_size=3, max_size=5), others=hits, turns=hits)
def test_saturation_vetoes_repetition(text: str, known: list[float], others: list[float], turns: list[float]) -> None:
    saturated = judged(text, known + others, turns)
    assert saturated.mem_saturation == 1
    assert saturated.r == 0


@pytest.mark.requirement("GATE-10")
@given(text=texts, memory=hits, turns=hits)
def test_g_stays_in_bounds_and_between_its_branches(text: str, memory: list[float], turns: list[float]) -> None:
    signals = judged(text, memory, turns)
    assert all(0 <= value <= 1 for value in signals.as_dict().values())
    assert min(signals.gconv, signals.gtech) <= signals.g <= max(signals.gconv, signals.gtech)


@pytest.mark.requirement("GATE-10")
@given(memory=hits, turns=hits, gconv=units, gtech=units)
def test_a_plain_turn_is_judged_by_the_conversational_branch_alone(
    memory: list[float], turns: list[float], gconv: float, gtech: float
) -> None:
    plain = judged(PERSONAL, memory, turns)
    assert plain.t == 0
    assert plain.g == plain.gconv
    assert blend(0.0, gconv, gtech) == gconv


@pytest.mark.requirement("GATE-10")
@given(memory=hits, turns=hits, gconv=units, gtech=units)
def test_a_purely_technical_turn_is_judged_by_the_technical_branch_alone(
    memory: list[float], turns: list[float], gconv: float, gtech: float
) -> None:
    technical = judged(CODE, memory, turns)
    assert technical.t == 1
    assert technical.g == technical.gtech
    assert blend(1.0, gconv, gtech) == gtech


@pytest.mark.requirement("GATE-10")
@given(memory=hits, turns=hits)
def test_conversational_structure_does_not_fire_on_code(memory: list[float], turns: list[float]) -> None:
    code = "def price(order, sister):\n    # I prefer Anna's two dogs on Monday\n    return order.total * 2"
    assert judged(code, memory, turns).d <= 0.3


@pytest.mark.requirement("GATE-10")
@given(gconv=units, gtech=units, first=units, second=units, share=units)
def test_g_is_affine_in_t(gconv: float, gtech: float, first: float, second: float, share: float) -> None:
    between = share * first + (1 - share) * second
    straight = share * blend(first, gconv, gtech) + (1 - share) * blend(second, gconv, gtech)
    assert blend(between, gconv, gtech) == pytest.approx(straight, abs=1e-12)
    slope = gtech - gconv
    assert blend(second, gconv, gtech) - blend(first, gconv, gtech) == pytest.approx(
        slope * (second - first), abs=1e-12
    )


# Settings.


@pytest.mark.requirement("GATE-1")
@pytest.mark.parametrize(
    "three",
    [(0.5, 0.4, 0.25), (-0.1, 0.85, 0.25), (1.2, -0.45, 0.25), (math.nan, 0.4, 0.25), (0, 0, 0), (0.4, 0.35, 0.24999)],
)
def test_branch_weights_outside_0_to_1_or_not_summing_to_1_are_refused(three: tuple[float, float, float]) -> None:
    first, second, third = three
    with pytest.raises(InputError, match=r"conversational branch must each be in \[0, 1\] and sum to 1"):
        GateWeights(novelty=first, repetition=second, conversational_structure=third)
    with pytest.raises(InputError, match=r"technical branch must each be in \[0, 1\] and sum to 1"):
        GateWeights(specificity=first, actionability=second, technical_structure=third)


@pytest.mark.requirement("GATE-1")
def test_branch_weights_that_sum_to_1_are_taken() -> None:
    own = GateSettings(weights=GateWeights(0.3333333, 0.3333333, 0.3333333))
    assert 0 <= score(PERSONAL, [], [], own, MINILM).g <= 1
    alone = GateSettings(weights=GateWeights(1, 0, 0))
    assert score(PERSONAL, [0.4], [], alone, MINILM).g == pytest.approx(0.6)


@pytest.mark.requirement("GATE-1")
@pytest.mark.parametrize("norm", [0, -1, -1e9])
def test_a_technical_norm_of_0_or_less_means_its_default(norm: float) -> None:
    assert GateWeights(technical_norm=norm).technical_norm == 1.5
    assert GateWeights(technical_norm=norm) == SETTINGS.weights


@pytest.mark.requirement("GATE-1")
def test_other_nonsense_is_refused_with_its_name() -> None:
    with pytest.raises(InputError, match="threshold"):
        GateSettings(threshold=1.5)
    with pytest.raises(InputError, match="technical_norm"):
        GateWeights(technical_norm=math.inf)
    with pytest.raises(InputError, match="weight of a family"):
        GateWeights(technical_families=TechnicalWeights(url=-0.1))
    with pytest.raises(InputError, match="rank"):
        replace(SETTINGS, conversation="maybe")  # type: ignore[arg-type]


@pytest.mark.requirement("GATE-1", "GATE-14")
def test_the_gate_can_be_set_from_the_environment() -> None:
    read = load_settings({"HOLDFAST_GATE__CONVERSATION": "filter", "HOLDFAST_GATE__WEIGHTS__TECHNICAL_NORM": "-1"}).gate
    assert (read.conversation, read.weights.technical_norm, read.threshold) == ("filter", 1.5, 0.35)
    with pytest.raises(InputError, match="sum to 1"):
        load_settings({"HOLDFAST_GATE__WEIGHTS__NOVELTY": ".9"})


# On the wire.


@pytest.mark.requirement("GATE-11")
def test_signals_go_over_the_wire_and_come_back() -> None:
    signals = judged(MIXED, [0.5], [0.9])
    metadata = signals.to_metadata()
    named = ["score", "t", "h", "r", "d", "p", "a", "dtech", "gconv", "gtech", "input_freq", "mem_saturation"]
    assert list(metadata) == [f"gating_{name}" for name in named]
    assert metadata["gating_score"] == signals.g
    assert Signals.read(metadata) == signals
    assert Signals(**signals.as_dict()) == signals


@pytest.mark.requirement("GATE-11")
def test_what_is_absent_or_no_number_reads_as_0() -> None:
    assert Signals.read({}) == Signals()
    assert all(value == 0 for value in Signals().as_dict().values())
    read = Signals.read({"gating_t": 0.5, "gating_h": "high", "gating_r": None, "gating_d": True, "gating_p": math.nan})
    assert read == Signals(t=0.5)
    assert Signals.read({"g": 1.0, "score": 1.0}) == Signals()  # somebody else's metadata
    assert len(fields(Signals)) == 12


# What is decided.


@pytest.mark.requirement("GATE-12")
def test_a_plain_personal_fact_is_promoted_on_a_warm_store() -> None:
    warm = judged(PERSONAL, [0.55, 0.5, 0.45, 0.4, 0.35], [0.5] * 10)
    assert warm.g >= 0.35
    assert decide(judge(PERSONAL), warm, SETTINGS).promoted


@pytest.mark.requirement("GATE-12")
def test_hi_is_not_promoted_on_a_cold_store_whatever_g_says() -> None:
    cold = judged("hi")
    assert cold.g == pytest.approx(0.35)  # novelty alone reaches the threshold; salience comes first
    for settings in (SETTINGS, replace(SETTINGS, conversation="filter")):
        verdict = decide(judge("hi"), cold, settings)
        assert (verdict.promoted, verdict.yields) == (False, False)
        assert verdict.reason.startswith("not salient")


@pytest.mark.requirement("GATE-14")
def test_rank_admits_every_salient_turn_and_filter_only_above_the_threshold() -> None:
    text = "Six ferries and four piers"
    low = judged(text, [0.9] * 5)
    assert low.g < 0.35
    ranked = decide(judge(text), low, SETTINGS)
    filtered = decide(judge(text), low, replace(SETTINGS, conversation="filter"))
    assert (ranked.promoted, ranked.yields) == (False, True)
    assert (filtered.promoted, filtered.yields) == (False, False)
    assert "below 0.35" in ranked.reason
    assert "below 0.35" in filtered.reason
    high = decide(judge(PERSONAL), judged(PERSONAL), replace(SETTINGS, conversation="filter"))
    assert (high.promoted, high.yields) == (True, True)


def test_an_ordinary_turn_is_judged_in_under_a_millisecond() -> None:
    turns = [PERSONAL, MIXED, "Fergal can't do tomorrow. The review moves to Thursday the 10th at 14:00, same place."]
    took = []
    for _ in range(50):
        for text in turns:
            start = time.thread_time()
            judge(text)
            judged(text, [0.5] * 5, [0.5] * 10)
            took.append(time.thread_time() - start)
    assert statistics.median(took) < 0.001
