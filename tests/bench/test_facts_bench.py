"""The facts benchmark on a short list in FactConsolidation's format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.contract import schema
from holdfast_bench.facts import is_stale, run

pytestmark = pytest.mark.requirement("EVAL-3")

FACTS = [
    "The harbour master of Lerwick is Magnus Isbister.",
    "Tilda Brekke plays the position of goalkeeper.",
    "The ferry Hamnavoe sails to the port of Stromness.",
    "The harbour master of Lerwick is Olga Petrie.",
    "Olga Petrie is married to Tilda Brekke.",
]
CONTEXT = "Here is a list of facts:\n" + "".join(f"{number}. {fact}\n" for number, fact in enumerate(FACTS))


def part(source: str, *asked: tuple[str, str], context: str = CONTEXT) -> dict[str, object]:
    return {
        "context": context,
        "questions": [question for question, _ in asked],
        "answers": [[answer] for _, answer in asked],
        "metadata": {"source": source},
    }


PARTS = [
    part(
        "factconsolidation_sh_6k",
        ("Who is the harbour master of Lerwick?", "Olga Petrie"),
        ("What position does Tilda Brekke play?", "goalkeeper"),
        ("Which port does the ferry Hamnavoe sail to?", "stromness"),
    ),
    part("factconsolidation_mh_6k", ("Who is married to the harbour master of Lerwick?", "Tilda Brekke")),
    part("factconsolidation_sh_tiny", ("Who keeps the light?", "Ada"), context="0. Bo keeps the light.\n1. x\n"),
]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    path = tmp_path_factory.mktemp("facts") / "facts.json"
    path.write_text(json.dumps(PARTS))
    return run([path])


def test_the_figures_keep_the_contract(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-facts")).validate(json.loads(json.dumps(figures)))
    assert figures["n"] == 5
    assert figures["single_hop"]["n"] == 4 and figures["multi_hop"]["n"] == 1
    assert figures["sizes"]["6k"]["facts"] == 5  # ingested once, asked in both ways
    assert set(figures["sizes"]) == {"6k", "tiny"}


def test_an_answer_in_the_first_hit_counts_in_any_case(figures: Mapping[str, Any]) -> None:
    single = figures["sizes"]["6k"]["single_hop"]
    assert single["newest@5"] == 1.0
    assert single["newest_first"] + single["stale_first"] == 1.0  # the first hit is the fact itself or its older self
    assert single["newest_first"] >= 0.6


def test_a_fact_that_merely_lacks_the_answer_is_not_stale(figures: Mapping[str, Any]) -> None:
    assert figures["sizes"]["tiny"]["single_hop"] == {
        "n": 1, "newest_first": 0.0, "newest@5": 0.0, "stale_first": 0.0,
    }  # fmt: skip
    assert "other: Bo keeps the light." in figures["examples"]["single_hop"][-1]


def test_baselines_are_asked_the_same_over_the_same_facts(figures: Mapping[str, Any]) -> None:
    assert set(figures["baselines"]) == {"bm25", "vector"}
    for plain in figures["baselines"].values():
        assert plain["single_hop"]["n"] == 4 and plain["multi_hop"]["n"] == 1
        assert plain["single_hop"]["newest@5"] == 0.75  # three of the four questions have an answer among the facts
    for plain in figures["sizes"]["6k"]["baselines"].values():
        assert plain["single_hop"]["newest_first"] + plain["single_hop"]["stale_first"] == 1.0
    assert set(figures["sizes"]["tiny"]["baselines"]["bm25"]) == {"single_hop"}  # as it was asked


def test_a_baseline_ignores_the_age_of_facts(tmp_path: Path) -> None:
    old, new = "The keeper of the light is Ada.", "The keeper of the light is Bo the younger of Whalsay and Unst."
    path = tmp_path / "facts.json"
    asked = part("facts_sh_two", ("Who is the keeper of the light?", "Bo"), context=f"0. {old}\n1. {new}\n")
    path.write_text(json.dumps([asked]))
    bm25 = run([path])["baselines"]["bm25"]["single_hop"]  # type: ignore[index]
    assert bm25["newest_first"] == 0.0 and bm25["newest@5"] == 1.0 and bm25["stale_first"] == 0.0


def test_a_fact_is_stale_if_a_later_one_has_the_answer_as_value() -> None:
    old, new = FACTS[0], FACTS[3]
    assert is_stale(old, ["Olga Petrie"], FACTS)
    assert not is_stale(new, ["Olga Petrie"], FACTS)  # nothing later overrides it
    assert not is_stale(old, ["Tilda Brekke"], FACTS)  # overridden, but not by the answer
    assert not is_stale(old, ["Olga Petrie"], FACTS[:3])  # the newer one was never ingested
    assert not is_stale("The harbour master of Lerwick is unknown.", ["Olga Petrie"], FACTS)  # no fact of the list


def test_an_unknown_source_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps([part("something_else")]))
    with pytest.raises(InputError, match="something_else"):
        run([path])
