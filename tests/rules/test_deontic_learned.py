"""The learned reader: what reads like a rule without a word that makes it one, and remarks that patterns mistake."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from pathlib import Path

import pytest

from holdfast.rules.detect import blend, chance, is_hopeless, norms, reading_of, score, wording
from holdfast.rules.orders import kinds
from holdfast.rules.text import Modality

pytestmark = pytest.mark.requirement("COMP-9")

ROOT = Path(__file__).parents[2]
LESSONS = sorted([ROOT / "training/deontic.jsonl", *(ROOT / "training/deontic").glob("*.jsonl")])
OWN = ROOT / "tests/rules/data/deontic.jsonl"


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _table() -> str:
    return resources.files("holdfast.rules").joinpath("deontic.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "said",
    [
        "Trainees wear gloves in the workshop.",
        "Close the report with a list of open points.",
        "Suppliers deliver before seven.",
        "Two spaces for yaml, four for everything else.",
    ],
)
def test_what_reads_like_a_rule_is_one_without_a_pattern_and_says_how_likely(said: str) -> None:
    assert reading_of(said) == ("own", "")
    (found,) = norms(said)
    assert found.text == said
    assert found.cue.startswith("reads like a rule (p .")


@pytest.mark.parametrize(
    "said",
    [
        "The neighbours grow tomatoes.",
        "Trainees from three schools came to the party yesterday.",
        "I left my bag at the desk.",
        "Kinder essen um sechs.",
        "Die Schuhe bleiben im Flur.",
        "INFO server started on port 8080",
    ],
)
def test_stories_plain_facts_other_languages_and_code_are_none(said: str) -> None:
    assert norms(said) == []


def test_a_remark_that_a_pattern_takes_for_a_rule_is_dropped() -> None:
    for said in ("We never were.", "Well, I'd rather you told her yourself.", "You must tell me everything!"):
        assert reading_of(said)[1]
        assert norms(said) == []


def test_a_question_is_a_rule_only_if_it_asks_for_something_from_now_on() -> None:
    assert norms("Could you from now on put the total first?", in_doubt=True)
    assert norms("Do trainees shadow a nurse for two weeks?") == []
    assert norms("Can you send me the file?") == []


def test_what_is_reported_is_none() -> None:
    assert norms("My boss says trainees shadow a nurse for two weeks.") == []


def test_a_rule_that_reads_like_one_has_its_kind_from_its_words() -> None:
    (found,) = norms("Suppliers do not park in the yard.")
    assert found.modality is Modality.PROHIBITION


def test_the_patterns_are_passed_over_only_where_they_could_not_change_the_verdict() -> None:
    weights = json.loads(_table())["reading"]
    voices = [mark.removeprefix("voice ") for mark in weights if mark.startswith("voice")]
    readers = [mark.removeprefix("found by ") for mark in weights if mark.startswith("found") and "none" not in mark]
    scores = [number / 10 for number in range(-80, 80)]
    for at in scores:
        possible = any(chance(at, voice, reader, True) is not None for voice in voices for reader in (*readers, ""))
        assert not (possible and is_hopeless(at))
    assert is_hopeless(score("I had two eggs and some toast for breakfast yesterday."))


def test_a_sentence_is_read_by_its_words_and_their_kinds() -> None:
    assert kinds("Trainees shadow a nurse.") == ["plural", "verb", "a", "party"]
    assert kinds("Air the room.")[0] == "verb"
    assert kinds("…") == kinds("") == []
    assert wording(["air", "the", "room"]) == [
        *("air", "the", "room"),
        *("^ air", "air the", "the room", "room $"),
        "air _ room",
        *("1:air", "2:the", "3:room"),
        *("^air", "^the", "^room"),
    ]
    assert {"air>the", "verb<the", "^-verb-the", "verb_word"} <= set(
        blend(["air", "the", "room"], kinds("Air the room."))
    )
    assert wording([]) == ["^ $"]


def test_the_table_is_small_and_belongs_to_the_sentences_it_was_learned_from() -> None:
    assert len(_table().encode()) < 2_500_000
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in LESSONS)).hexdigest()
    assert json.loads(_table())["lessons"] == digest, "run training/deontic.py"


def test_nothing_that_judges_was_learned_from() -> None:
    lessons = {str(row["text"]).lower() for path in LESSONS for row in _rows(path)}
    judges = [row for row in _rows(OWN) if row["part"] in ("held", "verdict", "second verdict")]
    planted = json.loads(resources.files("holdfast_bench").joinpath("planted.json").read_text(encoding="utf-8"))
    assert len(judges) >= 1_000
    assert lessons.isdisjoint(str(row["text"]).lower() for row in judges)
    assert lessons.isdisjoint(one["rule"].lower() for one in planted["rules"])
