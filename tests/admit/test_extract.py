"""What becomes a candidate: plain statements however short, and whatever the user asks to be remembered."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from holdfast.admit.extract import AdmitWeights, DeterministicExtractor, requested
from holdfast.gate.reader import SentenceReading
from holdfast.memory import Memory
from holdfast.model import Kind, Record
from holdfast.settings import AdmitSettings
from holdfast.text.words import sentences
from tests.support.memories import QUICK, OpenMemory

ADMITTING = replace(QUICK, admit=AdmitSettings(enabled=True))

pytestmark = pytest.mark.requirement("ADMIT-1")


@pytest.fixture
def memory(open_memory: OpenMemory) -> Iterator[Memory]:
    with open_memory(settings=ADMITTING) as opened:
        yield opened


def told(memory: Memory, *texts: str) -> dict[str, list[Record]]:
    """Each text said in a conversation of its own, and the records that came of it, replaced since or not."""
    turns = {text: memory.ingest(text, session=f"s{number}").id for number, text in enumerate(texts)}
    memory.flush()
    return {text: list(memory.why(turn).records) for text, turn in turns.items()}


def lost(found: dict[str, list[Record]]) -> list[str]:
    return [text for text, records in found.items() if not records]


def test_a_plain_statement_about_oneself_is_kept_however_short(memory: Memory) -> None:
    found = told(
        memory,
        "I'm a nurse.",
        "I love jazz.",
        "I have two cats.",
        "I work as a nurse at the harbour clinic.",
        "My favourite drink is espresso with oat milk.",
        "I live in Cork and work as a freelancer.",
        "I prefer tea to coffee in the morning.",
        "I play the trombone.",
        "My sister is a vet in Bremen.",
        "I speak Finnish.",
        "I'm a baker.",
    )
    assert lost(found) == []


def test_a_plain_statement_about_work_or_the_world_is_kept(memory: Memory) -> None:
    found = told(
        memory,
        "The capital of Freedonia is Sylvania.",
        "The project uses Postgres.",
        "Our standup is at nine.",
        "Deploys happen on Fridays.",
        "Our payroll runs on the 25th.",
        "Marta Oyelaran designed the bridge at Vik.",
        "The orchestra was founded in 1911.",
        "Lake Ohrid lies in North Macedonia.",
        "The invoices are stored in Oslo.",
    )
    assert lost(found) == []


def test_what_is_as_short_but_of_the_moment_is_not(memory: Memory) -> None:
    found = told(
        memory,
        "I'm a bit late.",
        "I love it!",
        "I have two minutes.",
        "I like the second one.",
        "I prefer the blue one.",
        "My train is delayed.",
        "My soup is cold.",
        "The film was great.",
        "The meeting is boring.",
        "Our bus is coming.",
        "The window is open.",
        "The idea is good.",
        "I have to go.",
        "We use it too.",
    )
    assert [text for text, records in found.items() if records] == []


ON_REQUEST = {
    "Call me Max.": "call them",
    "You can call me Bo, by the way.": "call them",
    "Please address me as Dr Adeyemi.": "call them",
    "my name's ida and I'm new here": "call them",
    "I go by Kit.": "call them",
    "Remember that the demo is on Friday.": "asked to remember",
    "Please remember that the gate sticks.": "asked to remember",
    "Remember: the alarm code has six digits.": "asked to remember",
    "Don't forget that Leif is colour-blind.": "asked to remember",
    "Note that the museum closes on Mondays.": "asked to remember",
    "For the record, the budget is 9,000.": "asked to remember",
    "FYI the office moves in May.": "asked to remember",
    "Keep in mind that my mother is deaf.": "asked to remember",
}


def test_what_the_user_asks_to_be_remembered_is_kept_and_the_record_says_why(memory: Memory) -> None:
    found = told(memory, *ON_REQUEST)
    assert lost(found) == []
    for text, [record] in found.items():
        assert record.text == text and record.confidence == pytest.approx(0.9)
        assert ON_REQUEST[text] in str(record.metadata["explicit"])


@pytest.mark.requirement("RULE-1")
@pytest.mark.parametrize(
    "text",
    [
        "From now on, write to me in Danish.",
        "Use metric units from now on.",
        "Always answer in Dutch.",
        "Please never share my address.",
        "Never book flights before 9 am.",
        "Don't send anything to Anna without asking me.",
    ],
)
def test_a_standing_instruction_becomes_guidance_when_it_is_said(memory: Memory, text: str) -> None:
    [record] = told(memory, text)[text]
    assert record.kind is Kind.GUIDANCE and record.text == text


def test_it_is_kept_even_where_nothing_would_pass_on_its_score(open_memory: OpenMemory) -> None:
    nothing_passes = replace(ADMITTING, admit=AdmitWeights(enabled=True, worth=1.0))
    with open_memory(settings=nothing_passes) as memory:
        fact = "My sister Clara works as a nurse at the hospital in Porto."
        found = told(memory, fact, "Remember that the demo is on Friday.", "Always answer in Dutch.")
        assert lost(found) == [fact]
        assert found["Always answer in Dutch."][0].kind is Kind.GUIDANCE


def test_a_hedge_lowers_the_confidence_of_what_was_asked_for_too(memory: Memory) -> None:
    text = "Remember that the demo is probably on Friday."
    assert told(memory, text)[text][0].confidence < 0.9


@pytest.mark.parametrize(
    "text",
    [
        "Remember that night in Rome!",
        "Do you remember that the demo is on Friday?",
        "Remember that the demo is on Friday?",
        "I'll never forget that.",
        "I don't remember that film.",
        "Don't forget your umbrella.",
        "Never mind.",
        "Always nice to see you.",
        "Never heard of it.",
        "Never give up!",
        "Always the same.",
        "Call me later.",
        "Call me Monday.",
        "Call me when you land.",
        "Call me crazy, but I like it.",
        "My name is on the list.",
        "What's my name?",
        'She wrote: "Remember that the demo is on Friday."',
        '"Never deploy on Fridays."',
        "“Well, listen. Never share my address. Goodbye.”",
        "> Remember that the demo is on Friday.",
        "```\nAlways answer in Dutch.\n```",
    ],
)
def test_questions_quotations_and_turns_of_phrase_ask_for_nothing(text: str) -> None:
    assert requested(sentences(text)) == {}


def test_an_instruction_in_a_pasted_letter_is_nobodys_request(memory: Memory) -> None:
    text = (
        "Can you check the tone of this?\n\nDear Ms Hallgren,\n\nNever share my address. Remember that the demo is on"
        " Friday.\n\nKind regards,\nOtto"
    )
    assert told(memory, text)[text] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Please remember this. Otto's spare key is with the baker.", "Otto's spare key is with the baker."),
        ("Otto's spare key is with the baker. Remember that. Thanks!", "Otto's spare key is with the baker."),
        ("Remember this.", None),
    ],
)
def test_a_bare_request_means_the_sentence_beside_it(text: str, kept: str | None) -> None:
    found = sentences(text)
    assert [found[number] for number in requested(found)] == ([] if kept is None else [kept])


@pytest.mark.requirement("SAFE-4")
def test_no_text_can_hold_it_up() -> None:
    for unit in (
        "please ",
        "and, ",
        "remember that ",
        "my name is ",
        "call me A",
        "from now on ",
        "always ",
        '"',
        "- ",
    ):
        begun = time.process_time()
        requested([(unit * 600)[:600]] * 200)
        assert time.process_time() - begun < 1.0


@pytest.mark.requirement("BEL-2")
def test_a_sentence_that_leans_on_the_one_before_it_is_kept_with_it(memory: Memory) -> None:
    text = "My brother Tom moved to Oslo in March. He works at the harbour there."
    records = told(memory, text)[text]
    assert any(record.display == text for record in records)
    assert not any(record.display.startswith("He") for record in records)


@pytest.mark.requirement("BEL-2")
def test_what_cannot_be_understood_alone_makes_no_record(memory: Memory) -> None:
    assert told(memory, "I prefer the blue one.") == {"I prefer the blue one.": []}


@pytest.mark.requirement("BEL-2")
def test_a_record_names_its_speaker(memory: Memory) -> None:
    turn = memory.ingest("I live in Cork and work as a nurse.", metadata={"speaker": "Maeve"})
    memory.flush()
    [record] = memory.why(turn.id).records
    assert record.text == "I live in Cork and work as a nurse." and record.display == f"Maeve: {record.text}"


@pytest.mark.requirement("RULE-4")
@pytest.mark.parametrize(("own", "kind"), [(0.3, Kind.PREFERENCE), (0.9, Kind.GUIDANCE)])
def test_a_rule_that_may_be_anothers_is_recalled_and_not_followed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, own: float, kind: Kind
) -> None:
    text = "Send every invoice to the new address."
    read = SentenceReading(text, 0, worth=0.9, alone=0.9, rule=0.9, own=own, norm=0.9, change=0.0, kind="rule")
    monkeypatch.setattr("holdfast.admit.extract.read_sentences", lambda *_: [read])
    [candidate] = DeterministicExtractor(AdmitWeights()).extract(memory.ingest(text), [])
    assert candidate.kind is kind


@pytest.mark.requirement("RULE-4")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What is four times two pounds in grams, since I made you keep to grams?", "rule"),
        ("No apixaban any more, it is rivaroxaban now.", "health"),
    ],
)
def test_a_question_or_a_fact_in_the_form_of_an_order_is_no_rule(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, text: str, kind: str
) -> None:
    read = SentenceReading(text, 0, worth=0.9, alone=0.9, rule=0.9, own=0.9, norm=0.9, change=0.0, kind=kind)
    monkeypatch.setattr("holdfast.admit.extract.read_sentences", lambda *_: [read])
    found = DeterministicExtractor(AdmitWeights()).extract(memory.ingest(text), [])
    assert Kind.GUIDANCE not in [one.kind for one in found]


@pytest.mark.requirement("BEL-1")
@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome now. My dog is called Bo. I work at the harbour. I play the cello. My wife Edith is a vet.",
        "I'm Ana, I live in Porto. I work as a nurse. I have two kids, Rui and Marta.",
    ],
)
def test_an_introduction_in_several_sentences_is_the_users_own(memory: Memory, text: str) -> None:
    kept = " ".join(record.text for record in told(memory, text)[text])
    assert all(sentence in kept for sentence in re.findall(r"[^.]+\.", text) if sentence.strip())
