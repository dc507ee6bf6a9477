"""The quality floor refuses obvious junk by name, and never the user's substance."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.admit.floor import Reason, judge, judge_turn

LABELS = Path(__file__).parents[2] / "training" / "labels"

JUNK = {
    Reason.WORKFLOW_EVENT: [
        "merged PR #501",
        "Merged it.",
        "ci is green, merged it",
        "ran the tests, all green",
        "deploying now",
        "tagged & pushed",
        "PR #42 is up for review",
        "The build failed again.",
        "just pushed the fix",
        "We've deployed to staging",
        "Ling approved",
        "rebased onto main",
    ],
    Reason.TAUTOLOGY: [
        "It is what it is.",
        "A deal is a deal",
        "Enough is enough.",
        "That's life.",
        "Time will tell.",
        "Sometimes the heart understands long before the head does.",
        "I think love is what holds everything together.",
    ],
    Reason.EPHEMERAL: [
        "I'm at the bus stop",
        "brb",
        "I'm tired today.",
        "im so tired",
        "on the bus, battery dying",
        "I'm in the shower right now",
        "not now, lunch",
        "going to bed",
        "it's raining here",
    ],
    Reason.COMMAND: [
        "make it shorter",
        "fix the second function",
        "use that in load() and add a type hint",
        "Give me three titles, no descriptions",
        "Translate to French: the delivery will arrive on Tuesday",
        "swap the last night for piran",
        "run it again",
        "Shorter.",
        "please rewrite this",
        "don't guess at that",
    ],
    Reason.QUESTION: [
        "What is the capital of Peru?",
        "how long does cod take in the oven",
        "and in fahrenheit?",
        "is there an app for that",
        "Should I move to Berlin?",
        "Will Asha be moving with you?",
    ],
    Reason.REACTION: [
        "thanks!!",
        "that's actually a really good idea",
        "I'm so proud of you!",
        "lol ok",
        "Sounds good.",
        "You're the best.",
        "What a beautiful surprise!",
        "I love that so much.",
        "Good morning!",
        "I can't wait to hear all about it",
    ],
    Reason.HYPOTHETICAL: [
        "if I had a boat I would sail to Norway",
        "if i won the lottery id do the whole arm",
        "Imagine if we were marine biologists.",
        "Hypothetically, I resign tomorrow.",
    ],
    Reason.REPORTED: [
        "People say landlords lose in court.",
        "Some people at the club say that one can run through it.",
        'A friend says "landlords lose in court every time".',
        "The article claims that coffee makes it worse.",
    ],
    Reason.FRAGMENT: ["the other one", "I will.", "They did.", "👍", "Top half only then"],
    Reason.TOOL_LIMITATION: ["The edit tool can't edit non-ASCII files."],
}


@pytest.mark.requirement("ADMIT-4")
@pytest.mark.parametrize(("text", "reason"), [(text, reason) for reason, texts in JUNK.items() for text in texts])
def test_obvious_junk_is_refused_with_a_reason(text: str, reason: Reason) -> None:
    refusal = judge(text)
    assert refusal is not None
    assert refusal.reason is reason
    assert refusal.why


SUBSTANCE = """\
I prefer tabs
the project uses Postgres
The repo uses tabs.
This project uses a special linter.
Our CI runs on Jenkins.
the tests live in tests/unit
Tests must pass before merging.
Prod deploys only happen on Tuesdays.
Staging is at tide-stg.internal:7443.
Money must never be a float.
We merged with Acme last year.
I deployed the first version in 2019.
Use metric units, please.
Answer in French.
Write comments in English.
Keep answers short.
Stop apologising.
No emojis.
Leave emojis out of your messages to me.
Ask before you delete any file.
Don't remove files without checking with me first.
Please don't book anything before 9.
Give me long, detailed explanations.
Call me Wren.
Your answers should be short.
Your name is Max.
When I ask for food, assume three people.
How we do it here: plain commit messages.
I like it when CV lines have numbers.
I am allergic to penicillin.
Penicillin gives me an allergic reaction.
I'm on warfarin.
I'm on parental leave from December.
I'm in a band.
I'm at Harrowgate General, on nights.
I'm always tired in the mornings.
My heart is enlarged, the cardiologist says.
My eyes are bad at night.
Rex died yesterday.
Fern died.
I retired!
dropped chem
We got a puppy.
No dairy for me.
Nothing with nuts please.
Love spicy food.
Run 5k every morning.
Time zone is UTC.
Life insurance is with Allianz.
It needs a good narrator.
Nobody can do a shift without a valid one.
My sister says I should see a doctor.
My wife thinks I should sell the boat.
If it doesn't work out, I'll move back to Leeds.
If I get the job we move to Oslo.
I wish I had a garden.
I'd like to learn Portuguese.
What annoys me is that nobody asked.
I moved to Halifax in January, how do people make friends at 45?
They kept my wedding shoes for five weeks, remember?
always vous, and sign with "L'équipe Atelier Nord"
Моя соседка Галина переезжает в Лимерик.
我住在上海，有两只猫。
Ich wohne seit Mai in Leipzig.
Vivo en Sevilla con mi hermana.""".splitlines()


@pytest.mark.requirement("ADMIT-3", "ADMIT-4", "SAL-6")
@pytest.mark.parametrize("text", SUBSTANCE)
def test_what_the_user_tells_of_themselves_their_people_and_their_rules_passes(text: str) -> None:
    assert judge(text) is None


@pytest.mark.requirement("ADMIT-4")
def test_a_fragment_that_answers_a_question_is_a_statement() -> None:
    for answer in ("Thyroid.", "Left Achilles.", "Woodturning, old radio sets.", "Clay, heavy and yellow."):
        assert judge(answer, answers_question=True) is None
    assert judge("Thyroid.") is not None
    for nothing in ("Yes.", "I do.", "maybe", "thanks"):
        assert judge(nothing, answers_question=True) is not None


@pytest.mark.requirement("ADMIT-4")
def test_of_a_turn_each_sentence_is_judged_and_only_the_first_answers() -> None:
    judged = judge_turn("Thyroid. What about you? My sister Anna has it too. Thyroid.", answers_question=True)
    assert [(one.text, one.refusal and one.refusal.reason) for one in judged] == [
        ("Thyroid.", None),
        ("What about you?", Reason.QUESTION),
        ("My sister Anna has it too.", None),
        ("Thyroid.", Reason.FRAGMENT),
    ]
    assert judge_turn("") == ()


@pytest.mark.requirement("ADMIT-4")
def test_a_quotation_of_several_sentences_is_not_the_users_own() -> None:
    turn = 'Summarise this: "Mr Tolland hates lorries. He moved here in 2019. He likes it." My own street is quiet.'
    assert [one.refusal and one.refusal.reason for one in judge_turn(turn)] == [
        Reason.REPORTED,
        Reason.REPORTED,
        Reason.REPORTED,
        None,
    ]
    assert all(one.refusal is None for one in judge_turn('The shelf is 30" deep. My desk is 60" wide.'))
    assert judge_turn('I told my boss "no way. I stay in Porto" and left.')[0].refusal is None


def shares(name: str) -> tuple[float, float]:
    """Of our own labels: durable user turns with a sentence that passes, and junk turns that are refused whole."""
    kept: list[bool] = []
    refused: list[bool] = []
    before = None
    for line in (LABELS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        asked = (
            before is not None
            and before["dialogue"] == row["dialogue"]
            and before["speaker"] != row["speaker"]
            and before["text"].rstrip().endswith("?")
        )
        before = row
        if row["speaker"] == "assistant":
            continue
        passes = any(one.refusal is None for one in judge_turn(row["text"], answers_question=asked))
        if row["durable"]:
            kept.append(passes)
        else:
            refused.append(not passes)
    return sum(kept) / len(kept), sum(refused) / len(refused)


@pytest.mark.requirement("ADMIT-3", "ADMIT-4")
@pytest.mark.parametrize(
    ("name", "least_refused"),
    # The rest of the junk is doubtful, not obvious: small talk with a name or a number in it, and whole paragraphs of
    # warmth (warm, persona), of which one sentence is enough to pass. The score of gate/durability.py ranks it.
    [("assistant", 0.84), ("everyday", 0.50), ("friends", 0.55), ("persona", 0.05), ("warm", 0.015)],
)
def test_on_our_own_labels_substance_is_kept_and_junk_refused(name: str, least_refused: float) -> None:
    kept, refused = shares(name)
    assert kept >= 0.97
    assert refused >= least_refused


@pytest.mark.requirement("ADMIT-3")
def test_no_claim_of_the_labelled_pairs_is_refused() -> None:
    pairs = [json.loads(line) for line in (LABELS / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    claims = [text for pair in pairs for text in (pair["old"], pair["new"])]
    refused = [text for text in claims if all(one.refusal for one in judge_turn(text))]
    assert len(refused) <= 0.01 * len(claims)


@given(st.text())
def test_any_text_gets_the_same_verdict_twice(text: str) -> None:
    assert judge(text) == judge(text)
    assert judge_turn(text) == judge_turn(text)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "seed",
    [
        "a",
        " ",
        "ok ",
        "i'm so ",
        "that's so ",
        "'a b c ",
        '"a b ',
        "a is a ",
        "if i ",
        "x, ",
        "?",
        "so, so, so! ",
        "\n",
    ],
)
def test_a_hostile_turn_of_100_kb_is_judged_quickly(seed: str) -> None:
    text = (seed * (100_000 // len(seed) + 1))[:100_000]
    begun = time.process_time()
    judge_turn(text)
    judge(text)
    assert time.process_time() - begun < 2.0
