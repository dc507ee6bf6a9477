"""P(useful | G) from labels: rising, stored, and honest about what it cannot say."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.gate.calibrate import isotonic, labels_of_file, probability, suggest
from holdfast.gate.score import Signals
from holdfast.memory import Memory
from holdfast.model import SIGNALS
from holdfast.settings import AdmitSettings
from tests.support.memories import QUICK, OpenMemory

LABELS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@pytest.mark.requirement("GATE-11")
def test_the_names_on_a_turn_are_those_of_the_gate() -> None:
    assert tuple(part.name for part in fields(Signals)) == SIGNALS


@pytest.mark.requirement("GATE-13")
@given(LABELS)
def test_the_curve_rises_stays_within_0_and_1_and_keeps_the_mean(labels: list[tuple[float, bool]]) -> None:
    scores, useful = [g for g, _ in labels], [worth for _, worth in labels]
    curve = isotonic(scores, useful)
    assert all(before.p < after.p and before.g < after.g for before, after in pairwise(curve))
    assert all(0 <= step.p <= 1 for step in curve)
    assert sum(step.labels for step in curve) == len(labels)
    assert sum(step.p * step.labels for step in curve) == pytest.approx(sum(useful))
    assert curve == isotonic(scores[::-1], useful[::-1])


@pytest.mark.requirement("GATE-13")
@given(LABELS)
def test_no_rising_function_of_the_score_is_nearer_to_the_labels(labels: list[tuple[float, bool]]) -> None:
    """Among rising curves the isotonic one errs least: moving one step's value only makes it worse."""
    scores, useful = [g for g, _ in labels], [worth for _, worth in labels]
    curve = isotonic(scores, useful)

    def error(steps: list[float]) -> float:
        values = [max(p for step, p in zip(curve, steps, strict=True) if step.g <= g) for g in scores]
        return sum((value - worth) ** 2 for value, worth in zip(values, useful, strict=True))

    best = [step.p for step in curve]
    for at in range(len(best)):
        for moved in (-0.01, 0.01):
            other = [*best]
            other[at] += moved
            if other == sorted(other):
                assert error(other) >= error(best) - 1e-9


@pytest.mark.requirement("GATE-13")
def test_neighbours_that_contradict_the_order_are_pooled() -> None:
    curve = isotonic([0.1, 0.2, 0.3, 0.4, 0.5], [False, True, False, True, True])
    assert [(step.g, step.p, step.labels) for step in curve] == [(0.1, 0.0, 1), (0.2, 0.5, 2), (0.4, 1.0, 2)]
    assert [probability(curve, g) for g in (0.0, 0.15, 0.2, 0.39, 0.4, 1.0)] == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    assert suggest(curve) == 0.2
    assert suggest(isotonic([0.1, 0.9], [False, False])) is None


@pytest.mark.requirement("GATE-13", "INV-3")
def test_a_calibration_is_stored_and_survives_a_rebuild(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=QUICK)
    assert memory.calibrate().curve == ()
    memory.calibrate([(0.9, False), (0.1, True)])
    made = memory.calibrate([{"g": 0.2, "useful": False}, {"g": 0.3, "useful": False}, {"g": 0.5, "useful": True}])
    assert (made.labels, made.useful) == (3, 1)
    assert made.suggested is not None and made.suggested.threshold == 0.5
    assert (made.suggested.precision, made.suggested.recall) == (1.0, 1.0)
    assert made.current is not None and made.current.threshold == 0.35
    assert memory.calibrate() == made  # the newest holds
    memory.rebuild()
    assert memory.calibrate() == made
    assert open_memory("bob", settings=QUICK).calibrate().curve == ()


@pytest.mark.requirement("GATE-13")
def test_labels_may_name_turns_and_the_distribution_counts_every_judged_one(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=QUICK)
    good = memory.ingest("My sister Anna lives in Rome and has two dogs.")
    idle = memory.ingest("thanks!")
    memory.ingest("You're welcome.", role="assistant")
    memory.flush()
    made = memory.calibrate([(good.id, True), (idle.id, False)])
    assert made.turns == sum(one.turns for one in made.distribution) == 2
    assert sum(one.useful for one in made.distribution) == sum(one.useless for one in made.distribution) == 1
    assert sorted(step.g for step in made.curve)[0] in {turn.signals["g"] for turn in memory.thread("default")}
    told = next(one for one in memory.why(good.id).decisions if one.what == "scored")
    assert "by your labels 100% of such turns are useful" in told.reason


@pytest.mark.requirement("GATE-13")
def test_a_label_that_cannot_be_used_is_named_and_nothing_is_stored(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=QUICK)
    answer = memory.ingest("You're welcome.", role="assistant")
    memory.flush()
    with pytest.raises(InputError, match=r"label 1: there is no turn 't-0'.*label 2: t-.* has no score"):
        memory.calibrate([("t-0", True), (answer.id, False)])
    with pytest.raises(InputError, match=r'label 2: "g" must be a number from 0 to 1, not 1\.5'):
        memory.calibrate([(0.3, True), (1.5, False)])
    with pytest.raises(InputError, match="no labels"):
        memory.calibrate([])
    assert memory.calibrate().labels == 0


@pytest.mark.requirement("GATE-13")
def test_bad_lines_of_a_file_are_told_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = ['{"g": 0.4, "useful": true}', "", "nonsense", '{"g": 0.4}', '{"useful": true}', '["t-1", true]']
    path.write_text("\n".join(lines))
    with pytest.raises(InputError) as told:
        labels_of_file(path)
    for part in ("labels.jsonl:3: no JSON object", 'labels.jsonl:4: "useful" must be true or false',
                 'labels.jsonl:5: "turn" or "g", one of them', "labels.jsonl:6: no label"):  # fmt: skip
        assert part in str(told.value)
    path.write_text(json.dumps({"turn": "t-1", "useful": False}) + "\n\n")
    (label,) = labels_of_file(path)
    assert (label.turn, label.g, label.useful, label.where) == ("t-1", None, False, "labels.jsonl:1")
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no labels"):
        labels_of_file(path)


def test_a_memory_that_never_judged_has_an_empty_distribution(open_memory: OpenMemory) -> None:
    memory: Memory = open_memory(settings=replace(QUICK, admit=AdmitSettings(enabled=False)))
    memory.ingest("My sister Anna lives in Rome.")
    memory.flush()
    shown = memory.calibrate()
    assert shown.turns == 0 and len(shown.distribution) == 20 and shown.at is None
