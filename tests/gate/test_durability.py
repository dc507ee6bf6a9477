"""The score that decides what becomes a record: what lasts stands above what passes, and saying it again is no news."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from statistics import median

import pytest

from holdfast.gate.durability import FEATURES, MOST_SENTENCES, weigh
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.models.embedder import Embedder, StaticEmbedder
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, OpenMemory, assistant, user

LABELS = Path(__file__).parents[2] / "training" / "labels"
ENOUGH = 0.61

pytestmark = pytest.mark.requirement("ADMIT-3")


@pytest.fixture
def memory(open_memory: OpenMemory) -> Iterator[Memory]:
    with open_memory(settings=QUICK) as opened:
        yield opened


def kept(memory: Memory) -> list[Record]:
    return [one for one in memory.recent(100, kind="record") if isinstance(one, Record)]


def table() -> dict[str, object]:
    found = json.loads(resources.files("holdfast.gate").joinpath("durability.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "I live in Ghent.",
        "My sister's name is Ada.",
        "I prefer tea over coffee.",
        "We use Postgres 15 for the orders service.",
        "I work at the harbour office, mostly on night shifts.",
        "My rent is 850 euros.",
        "I'm a vegetarian.",
        "I hate mushrooms.",
        "Never deploy on Fridays.",
        "I'm moving to Porto in March with my two sons.",
        "My physio told me to stop running until the knee has healed.",
    ],
)
def test_what_somebody_tells_of_themselves_is_kept_however_short(text: str) -> None:
    assert weigh(text, False).whole >= ENOUGH


@pytest.mark.parametrize(
    "text",
    [
        "Haha, that's amazing!",
        "Thanks so much, you're the best!",
        "How was your weekend?",
        "I'm so happy for you, you've worked so hard for this!",
        "I have a question.",
        "Call me later.",
        "That must have been hard. Are you feeling better now?",
        "Could you make it a bit shorter, please?",
        "Good morning! How can I get to the station?",
        "Sounds like a plan, see you on Sunday then!",
        "ok",
        "",
    ],
)
def test_small_talk_questions_and_tasks_are_not(text: str) -> None:
    assert weigh(text, False).whole < ENOUGH


def test_a_repeated_statement_scores_below_the_first_one_or_another_value() -> None:
    said = "My flight to Oslo leaves on Tuesday at seven."
    changed = "My flight to Oslo leaves on Thursday at nine instead."
    first = weigh(said, False).whole
    again = weigh(said, False, [said, "Noted."]).whole
    other = weigh(changed, False, [said, "Noted."]).whole
    assert again < other and again < first
    assert other >= ENOUGH


def test_a_fragment_is_worth_more_as_an_answer() -> None:
    asked = "Where did you grow up?"
    assert weigh("In a village near Tartu.", True, [asked]).whole > weigh("In a village near Tartu.", False).whole


def test_one_good_sentence_is_enough_and_two_are_better() -> None:
    fact, other, talk = "I moved to Leeds in May.", "My brother Tom works at a mill there.", "Haha, what a day!"
    alone = weigh(fact, False).whole
    assert weigh(f"{fact} {other}", False).whole > alone
    with_talk = weigh(f"{talk} {fact}", False)
    assert with_talk.whole >= max(with_talk.each) == with_talk.each[1] and with_talk.each[0] < ENOUGH


def test_it_is_a_function_of_the_words_alone() -> None:
    before = ["Do you cook?", "Now and then."]
    assert weigh("I bake rye bread on Sundays.", True, before) == weigh("I bake rye bread on Sundays.", True, before)
    assert weigh("I’ve two cats.", False).each == weigh("I've two cats.", False).each


@pytest.mark.requirement("INV-3")
def test_the_embedder_in_use_does_not_change_what_is_worth_keeping(open_memory: OpenMemory) -> None:
    told = ["I play the oboe in a wind quintet on Fridays.", "What a nice day!", "My cousin Ola teaches maths in Lund."]
    scores = []
    embedders: list[Embedder] = [StaticEmbedder(), HashEmbedder()]
    for number, embedder in enumerate(embedders):
        with open_memory(file=f"{number}.db", embedder=embedder, settings=QUICK) as memory:
            for text in told:
                memory.ingest(text)
            memory.flush()
            scores.append({one.text: one.metadata["durability"] for one in kept(memory)})
    assert scores[0] == scores[1] and list(scores[0]) == [told[2], told[0]]


@pytest.mark.requirement("INV-3")
def test_what_is_said_later_does_not_make_it_old_news(memory: Memory) -> None:
    fact = "My daughter Mila starts school in Uppsala in August."
    memory.ingest_many([user(fact), assistant(f"So: {fact}"), user("Exactly."), assistant(fact), user(fact)])
    memory.flush()
    (record,) = kept(memory)
    (source,) = memory.why(record.id).turns[:1]
    assert record.text == fact and source.index == 0
    memory.rebuild()
    assert [one.id for one in kept(memory)] == [record.id]


def test_the_shipped_table_is_the_one_the_labels_give() -> None:
    rows = []
    for path in sorted(LABELS.glob("*.jsonl")):
        if path.stem != "pairs":
            rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    learned = [row["durable"] for row in rows if row["speaker"] != "assistant"]
    shipped = table()
    assert (shipped["turns"], shipped["durable"]) == (len(learned), sum(learned)), "run training/durability.py"
    assert list(shipped["weights"]) == list(FEATURES)  # type: ignore[call-overload]
    assert all(set(row) >= {"dialogue", "turn", "speaker", "text", "durable", "why"} for row in rows)


def test_it_takes_a_fraction_of_a_millisecond_and_no_text_can_hold_it_up() -> None:
    before = [f"We talked about boats number {number} and the harbour." for number in range(32)]
    took = []
    for number in range(200):
        begun = time.process_time()  # the machine may be busy; what counts is our own work
        weigh(f"I painted boat {number} on Sunday. It took my brother and me all day!", False, before)
        took.append(time.process_time() - begun)
    assert median(took) < 0.002  # .2 ms here
    for unit in ("a. ", ", Abc", "I'm ", "?!", "Hey Ida, ", "x" * 700 + ". "):
        begun = time.process_time()
        weighed = weigh(unit * (40_000 // len(unit)), True, [unit * 20_000] * 3)
        assert time.process_time() - begun < 2.0 and len(weighed.sentences) <= MOST_SENTENCES
