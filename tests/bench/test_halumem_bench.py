"""The HaluMem benchmark on one invented user."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.contract import schema
from holdfast_bench.halumem import run
from holdfast_bench.memories import best_cover, content_words, coverage

pytestmark = pytest.mark.requirement("EVAL-2", "EVAL-3")

Point = dict[str, object]


def point(text: str, **more: object) -> Point:
    return {"memory_content": text, "memory_source": "secondary", "is_update": "False", "original_memories": [], **more}


def false(text: str, true: str) -> Point:
    return point(text, memory_source="interference", reference_memory_content=true)


def session(day: int, points: list[Point], *said: tuple[str, str]) -> dict[str, object]:
    dialogue = [
        {"role": role, "content": text, "timestamp": f"Mar {day:02d}, 2026, 10:{minute:02d}:00"}
        for minute, (role, text) in enumerate(said)
    ]
    return {"memory_points": points, "dialogue": dialogue}


SESSIONS = [
    session(
        1,
        [
            point("Ines has been a nurse at the harbour clinic since 2019."),
            point("Ines lives in Porto with her two dogs, Rex and Mia."),
            point("Ines plays the cello in an orchestra with her cousin."),
            false(
                "Ines has been a surgeon at the harbour clinic since 2019.",
                "Ines has been a nurse at the harbour clinic since 2019.",
            ),
        ],
        ("user", "I have been a nurse at the harbour clinic since 2019."),
        ("assistant", "So you have been a surgeon at the harbour clinic since 2019. Anything else?"),
        ("user", "I live in Porto with my two dogs, Rex and Mia."),
        ("assistant", "Lovely."),
        ("user", "ok thanks"),
    ),
    session(
        9,
        [
            point(
                "Ines moved from Porto to Ghent last month.",
                is_update="True",
                original_memories=["[Mar 01][Persona]Ines lives in Porto with her two dogs, Rex and Mia."],
            ),
            point("Ines sold her boat.", is_update="True", original_memories=["Ines owned a boat."]),
        ],
        ("user", "We moved to Ghent last month, so I no longer live in Porto."),
        ("assistant", "Noted."),
    ),
]


def measure(tmp_path: Path, sessions: list[dict[str, object]] = SESSIONS) -> Mapping[str, Any]:
    path = tmp_path / "user.json"
    path.write_text(json.dumps([{"uuid": "u-1", "sessions": sessions}]))
    return run([path])


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return measure(tmp_path_factory.mktemp("halumem"))


def test_the_figures_keep_the_contract_in_both_modes(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-halumem")).validate(json.loads(json.dumps(figures)))
    assert figures["files"]["user.json"]["promoted"] == figures["promoted"]
    assert figures["filter"]["user_turns"] == figures["user_turns"] == 4


def test_points_are_aligned_with_turns_and_count_if_these_have_records(
    figures: Mapping[str, Any],
) -> None:
    assert (figures["n"], figures["aligned"]) == (5, 3)  # no turn mentions the cello or the boat
    assert figures["promoted"] == 1.0
    assert figures["promoted_share_of_turns"] == 0.75  # all but "ok thanks"


def test_claims_of_the_assistant_are_not_stored(figures: Mapping[str, Any]) -> None:
    assert (figures["interference_n"], figures["interference_stored"]) == (1, 0)


def test_a_false_claim_by_the_user_is_detected(tmp_path: Path) -> None:
    told = "I have been a surgeon at the harbour clinic since 2019."
    lie = false("Ines has been a surgeon at the harbour clinic since 2019.", "Ines has been a nurse at the clinic.")
    said = session(1, [lie], ("user", told))
    figures = measure(tmp_path, [said])
    assert figures["interference_stored"] == 1
    assert "surgeon" in figures["examples"]["stored"][0]


def test_an_update_counts_if_its_original_was_stated(figures: Mapping[str, Any]) -> None:
    assert (figures["updates_all"], figures["updates_n"]) == (2, 1)
    assert figures["superseded"] == 1.0
    assert figures["unrelated_n"] == 2 and figures["unrelated_lost"] == 0.0


def test_content_words_are_stems_without_function_words() -> None:
    words = content_words("Ines's dogs were running to the Harbour")
    assert words == {"ine", "dog", "run", "harbour"}
    assert coverage(words, content_words("a dog runs")) == 0.5
    assert coverage(frozenset(), words) == 0.0
    assert best_cover(words, [content_words("nothing"), content_words("dog harbour"), content_words("dogs run")]) == 1
    assert best_cover(words, [content_words("dog")]) is None and best_cover(words, []) is None


@pytest.mark.parametrize(
    "content", ["[{}]", json.dumps([{"uuid": "u", "sessions": [{"memory_points": [], "dialogue": [{}]}]}])]
)
def test_an_unknown_halumem_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(InputError, match=r"other\.json is not a file of HaluMem users"):
        run([tmp_path / "other.json"])


def test_an_unknown_halumem_time_is_refused(tmp_path: Path) -> None:
    talk = session(1, [], ("user", "I keep bees."))
    talk["dialogue"] = [{"role": "user", "content": "I keep bees.", "timestamp": "2026-03-01"}]
    with pytest.raises(InputError, match="2026-03-01"):
        measure(tmp_path, [talk])
