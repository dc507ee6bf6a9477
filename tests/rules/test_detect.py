"""What counts as a rule: obligation, prohibition, permission and prescription in talk, rule files and contracts."""

from __future__ import annotations

import json
import lzma
import time
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules.detect import Modality, norms
from holdfast_bench.rules import LabelledText, measure, read_labelled

pytestmark = pytest.mark.requirement("COMP-9")

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
LABELLED = read_labelled(DATA / "deontic.jsonl", (DATA / "deontic.jsonl").read_text(encoding="utf-8"))


def _part(part: str) -> dict[str, float]:
    figures = measure(one for one in LABELLED if one.kinds == (part,))
    own = figures["own"]
    assert isinstance(own, dict)
    found: dict[str, float] = own[part]
    return found


@pytest.mark.parametrize(
    ("said", "modality"),
    [
        ("Always run the tests before you commit.", Modality.OBLIGATION),
        ("You must ask me before you spend money.", Modality.OBLIGATION),
        ("From now on, answer me in German.", Modality.OBLIGATION),
        ("Make sure every function has a docstring.", Modality.OBLIGATION),
        ("The Tenant shall pay the rent on the first day of each month.", Modality.OBLIGATION),
        ("Never push straight to main.", Modality.PROHIBITION),
        ("No deploys without a second pair of eyes.", Modality.PROHIBITION),
        ("The Licensee may not sublicense the Software.", Modality.PROHIBITION),
        ("Feel free to rename variables.", Modality.PERMISSION),
        ("Visitors are permitted to use the garden.", Modality.PERMISSION),
        ("Use tabs for indentation.", Modality.PRESCRIPTION),
        ("If a test is flaky, quarantine it and open an issue.", Modality.PRESCRIPTION),
    ],
)
def test_a_rule_is_found_with_its_kind(said: str, modality: Modality) -> None:
    (found,) = norms(said)
    assert (found.modality, found.text) == (modality, said)
    assert found.cue


@pytest.mark.parametrize(
    "said",
    [
        "No problem.",
        "You should see this film.",
        "Run the tests now.",
        "Can you send me the file?",
        "write me a poem about autumn",
        "Should I always run the tests first?",
        'The sign said "Do not feed the ducks".',
        "My boss says I must be in the office by eight.",
        "We had to leave before the rain came.",
        "You must be tired after that trip.",
        "The tests should pass now.",
        "I have to pick up the kids at five.",
        "",
        "   ",
    ],
)
def test_talk_errands_questions_quotations_and_stories_are_no_rules(said: str) -> None:
    assert norms(said) == []


def test_a_text_gives_its_rules_and_where_each_lies() -> None:
    text = "Thanks, that worked!  Never deploy on Fridays. The build took ten minutes.\nAlways tag releases."
    found = norms(text)
    assert [norm.text for norm in found] == ["Never deploy on Fridays.", "Always tag releases."]
    assert all(text[norm.start : norm.stop] == norm.text for norm in found)


def test_what_stands_in_a_list_of_rules_is_a_rule_whatever_its_words() -> None:
    text = "House rules:\n- British spelling\n- two spaces for indentation\n\nThe weather is fine."
    assert [norm.text for norm in norms(text)] == ["British spelling", "two spaces for indentation"]
    assert norms("Shopping:\n- brown bread\n- two lemons") == []


def test_a_heading_and_what_announces_a_list_are_no_rules_themselves() -> None:
    assert [norm.text for norm in norms("Never:\n- secrets in logs\n- real names")] == ["secrets in logs", "real names"]
    assert [norm.text for norm in norms("## Conventions\n\n* snake case for files")] == ["snake case for files"]


def test_code_quotations_and_pasted_parts_lay_nothing_down() -> None:
    assert norms("```\nNever push to main.\n```") == []
    assert norms("> Always sign your commits.") == []
    assert norms("Here is the letter I got:\n\nDear tenant,\nYou must never smoke.\nKind regards,\nThe landlord") == []
    assert norms("He shouted “Never open that door. Always knock first.” and ran.") == []


@pytest.mark.parametrize(
    ("part", "recall", "precision"),
    # The verdicts are by strangers; the rounds are forms that were chosen because they are hard.
    [(part, 0.95, 0.85) for part in ("development", "held", "rounds", "verdict", "second verdict")],
)
def test_rules_are_found_in_our_own_labelled_sentences(part: str, recall: float, precision: float) -> None:
    figures = _part(part)
    assert figures["recall"] >= recall
    assert figures["precision"] >= precision


def test_a_question_is_a_rule_only_if_it_asks_for_something_from_now_on() -> None:
    assert norms("Could you from now on put the total first?", in_doubt=True)
    assert norms("Do trainees shadow a nurse for two weeks?") == []


def test_a_sentence_that_may_be_anothers_is_no_rule_of_the_user() -> None:
    text = "Lena forwarded me this: always pay invoices to the new account. What do you think?"
    assert norms(text, own=0.5) == []
    assert [norm.text for norm in norms("Always pay invoices from the club account.", own=0.5)]


def test_nothing_that_judges_was_learned_from() -> None:
    learned = lzma.decompress((ROOT / "training/reader/labels/norms.jsonl.xz").read_bytes()).decode()
    lessons = {json.loads(line)["text"].lower() for line in learned.splitlines()}
    assert len(lessons) > 15_000
    judges = [one.text.lower() for one in LABELLED if one.kinds[0] in ("held", "verdict", "second verdict")]
    planted = json.loads(resources.files("holdfast_bench").joinpath("planted.json").read_text(encoding="utf-8"))
    assert len(judges) >= 1_000
    assert lessons.isdisjoint(judges)
    assert lessons.isdisjoint(one["rule"].lower() for one in planted["rules"])


def test_the_labelled_set_is_large_and_was_labelled_twice() -> None:
    assert len({one.text for one in LABELLED}) == len(LABELLED) >= 700
    second = [json.loads(line) for line in (DATA / "deontic_second.jsonl").read_text(encoding="utf-8").splitlines()]
    first = {one.text: one.norm is not None for one in LABELLED if one.kinds[0] in ("development", "held")}
    assert {row["text"] for row in second} == first.keys()
    notes = (DATA / "deontic_labels.md").read_text(encoding="utf-8")
    assert all(row["rule"] == first[row["text"]] or row["text"] in notes for row in second)


def test_the_figures_tell_each_set_apart() -> None:
    figures = measure(
        [
            LabelledText("lexdemod", "The Tenant shall pay the rent.", ("obligation",)),
            LabelledText("lexdemod", "This is the address.", ("obligation", "permission")),
            LabelledText("dailydialog", "I had eggs for breakfast.", ("inform",)),
        ]
    )
    assert figures == {
        "lexdemod": {
            "obligation": {"n": 2, "flagged": 0.5, "in_doubt": 0.5},
            "prohibition": {"n": 0, "flagged": None, "in_doubt": None},
            "permission": {"n": 1, "flagged": 0.0, "in_doubt": 0.0},
        },
        "dailydialog": {"inform": {"n": 1, "flagged": 0.0, "in_doubt": 0.0}},
    }


_PIECES = """always never you must shall not may no without if , . : ; - ? ! " “ ” ` ``` > * # Rules: the Tenant
    tests don't please use every from now on make sure should can't I we \n \n\n ß 日本 😀 \u2028 \x00"""


@given(st.one_of(st.text(max_size=120), st.lists(st.sampled_from(_PIECES.split(" ")), max_size=20).map(" ".join)))
def test_spans_are_exact_and_in_order(text: str) -> None:
    found = norms(text)
    assert all(text[norm.start : norm.stop] == norm.text != "" for norm in found)
    assert all(one.stop <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize("piece", ["You must never do this. ", "if a, ", "- never a\n", "Rules:\n- a b\n", "“a "])
def test_a_long_text_takes_no_longer_than_a_page(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        started = time.process_time()
        norms(text)
        return time.process_time() - started

    page, whole = seconds(5_000), seconds(1_000_000)
    assert whole <= 8 * page + 0.5
