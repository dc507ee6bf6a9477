"""The cheap refusal: who is let through, who is not, and the one sentence that says why."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.gate.salience import SIGNALS, informative_words, judge, tool_limitation_claim

DURABLE = [
    # (signal, text), each far too short to pass by its length
    ("naming_oneself", "My name is Anna"),
    ("naming_oneself", "my name’s Bree"),
    ("naming_oneself", "Call me Bree"),
    ("being", "I'm vegan"),
    ("being", "I’m 38"),
    ("being", "im deaf"),
    ("being", "I am Anna"),
    ("being", "I was adopted"),
    ("preferring", "I prefer tabs"),
    ("preferring", "I really like jazz"),
    ("preferring", "I love rain"),
    ("preferring", "I hate meetings"),
    ("preferring", "I want quiet"),
    ("preferring", "I need glasses"),
    ("preferring", "I'd rather walk"),
    ("doing", "I use Kamal"),
    ("doing", "I'm using Helix"),
    ("doing", "I work nights"),
    ("doing", "I deploy Fridays"),
    ("doing", "I run daily"),
    ("doing", "I've switched banks"),
    ("habit", "I usually walk"),
    ("habit", "I never fly"),
    ("habit", "I always walk"),
    ("refusing", "I don't fly"),
    ("refusing", "I don’t drink"),
    ("refusing", "I do not drink"),
    ("refusing", "I won't fly"),
    ("refusing", "I refuse"),
    ("we", "We use Go"),
    ("we", "We prefer trains"),
    ("we", "we've decided"),
    ("we", "We agreed already"),
    ("we", "We never deploy"),
    ("we", "we're using uv"),
    ("standing_order", "Always use metric"),
    ("standing_order", "never assume UTC"),
    ("standing_order", "Don't ever call"),
    ("standing_order", "please always run ruff"),
    ("remember", "Remember this!"),
    ("remember", "remember that"),
    ("remember", "Remember: 4411"),
    ("project", "The project uses Go"),
    ("project", "the repo is private"),
    ("project", "The codebase requires care"),
    ("project", "the team prefers Zulip"),
    ("project", "Our convention is tabs"),
    ("project", "the standard is PEP8"),
    ("other_languages", "Soy vegano"),
    ("other_languages", "Ich rauche nicht, ich bin 40"),
    ("other_languages", "меня зовут Анна"),
    ("other_scripts", "我叫小明"),
    ("other_scripts", "コーヒーが好き"),
]


@pytest.mark.requirement("SAL-2")
@pytest.mark.parametrize(("signal", "text"), DURABLE)
def test_a_durable_signal_makes_a_turn_salient_however_short_it_is(signal: str, text: str) -> None:
    judged = judge(text)
    assert judged.salient
    assert judged.signal == signal
    assert signal.replace("_", " ") in judged.reason


@pytest.mark.requirement("SAL-2")
def test_every_signal_has_an_example() -> None:
    assert {signal for signal, _ in DURABLE} == {family.name for family in SIGNALS}


THROWAWAY = [
    *["hi", "Hello!", "hey hey", "hiiiii", "Good morning", "good night", "see you later", "?", "...", "?!...,;:-"],
    *[
        "thanks",
        "Thank you so much!",
        "thx :)",
        "ok",
        "OK.",
        "yes please",
        "no",
        "nope",
        "cool cool",
        "haha yes",
        "lol",
    ],
    *["help", "commands", "done", "quit", ":q", ":wq", "continue", "go", "next", "stop", "wait", "hahahaha"],
    *[
        "what",
        "what now",
        "what is this",
        "why?",
        "fix it",
        "more tests",
        "café",
        "don't know",
        "sounds good, go ahead",
    ],
    *["👍", "👍🏽 ok", "🎂🐙🔭", "merci", "¡Hola!", "danke", "спасибо", "안녕하세요", "नमस्ते", "شكرا"],
    *["你好", "谢谢！", "好的", "ありがとうございます", "はい", "สวัสดีครับ"],
]


@pytest.mark.requirement("SAL-3")
@pytest.mark.parametrize("text", THROWAWAY)
def test_greetings_acknowledgements_and_bare_commands_are_not_salient(text: str) -> None:
    judged = judge(text)
    assert not judged.salient
    assert judged.signal is None
    assert "informative word" in judged.reason


ENOUGH = [
    "Rex died yesterday",
    "Nell has violin on Saturdays",
    "gate code 4411",
    "372 0981 5540",
    "Flat 3, 22 Tannery Lane, Cork",
    "O'Brien moved house",
    "mi madre es celíaca",
    "Моя соседка переезжает в Лимерик",
    "मेरी बहन रोम में रहती है",
    "제 여동생은 로마에 살아요",
    "أختي تعيش في روما",
    "妹妹在罗马工作",
    "兄のトマスは大阪に住んでいます",
    "น้องสาวอยู่ที่กรุงโรม",
]


@pytest.mark.requirement("SAL-3")
@pytest.mark.parametrize("text", ENOUGH)
def test_three_informative_words_are_enough_in_any_script(text: str) -> None:
    assert judge(text).salient


@pytest.mark.requirement("SAL-3")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("thanks, Bree", 1),
        ("it's Anna's", 2),
        ("cafe\u0301 cre\u0300me", 2),  # decomposed accents do not split a word
        ("हिन्दी", 1),  # nor do vowel signs
        ("می‌خواهم", 1),  # nor does a zero-width non-joiner
        ("don’t", 1),
        ("snake_case", 2),
        ("罗马", 1),  # two characters a word
        ("妹妹在罗马", 3),
        ("谢谢妹妹", 1),
        ("我的iPhone坏了", 3),
        ("กรุงโรม", 2),  # three letters a word, marks aside
    ],
)
def test_words_are_counted_as_their_script_writes_them(text: str, count: int) -> None:
    assert informative_words(text, at_most=99).count == count


@pytest.mark.requirement("SAL-1")
@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u3000\u00a0"])
def test_no_user_text_is_not_salient(text: str) -> None:
    judged = judge(text)
    assert (judged.salient, judged.reason) == (False, "no user text")


@pytest.mark.requirement("SAL-7")
def test_a_message_of_several_lines_is_judged_whole() -> None:
    assert judge("hi\n\nthanks\n\nI prefer tabs").signal == "preferring"
    assert judge("ok\nI\nprefer\ntabs").signal == "preferring"  # a signal may run over a line end
    assert judge("Rex\ndied\nyesterday").salient
    assert not judge("hi\nthanks\nok").salient
    assert judge("ok\n" * 5000 + "I'm Bree").signal == "being"
    assert judge("ok\n" * 5000 + "I'm" + "\nok" * 5000).signal == "being"


@pytest.mark.requirement("SAL-3")
def test_how_many_words_are_enough_is_a_setting() -> None:
    assert judge("Rex died", salient_words=2).salient
    assert not judge("Rex died yesterday", salient_words=4).salient


@given(st.text(max_size=300))
def test_any_text_is_judged_and_says_why(text: str) -> None:
    judged = judge(text)
    assert judged.reason
    assert judged == judge(text)
    if judged.signal is not None:
        assert judged.salient


LIMITATIONS = [
    "the edit tool can't edit non-ASCII files",
    "The edit tool can’t edit non-ASCII files.",
    "file-editing tooling fails on large files",
    "File-editing tooling can't edit non-ASCII files",
    "The shell command tool times out on long commands",
    "Tool calls fail when the path has spaces",
    "Non-ASCII files cannot be edited with the edit tool",
    "Editing large files fails",
    "Reading binary files is not supported",
    "The assistant cannot access the internet",
    "The model is unable to read images",
    "The agent couldn't open the file",
    "The editor can't handle files over 10 MB",
    "The tool doesn't work",
    "The bash tool does not support interactive commands",
    "The read tool in this environment can't open PDFs",
    "The write tool isn't able to create directories",
    "Edit tool failed on src/a.py",
    "The MCP server crashed",
    "The filesystem was not available",
    "The user learned that the edit tool fails on large files",
    "The user prefers tabs. The edit tool breaks on CRLF files.",
]
FACTS = [
    "I prefer tabs",
    "the project uses Postgres",
    "I can't eat nuts",
    "my editor is Helix and I don't use VS Code",
    "our team does not deploy on Fridays",
    "The reading group can't meet on Mondays",
    "My sister is a book editor and can't stand flying",
    "The agent can't show us the flat before Friday",
    "The model does not ship to Norway",
    "Our CLI tool does not support Windows",
    "My reader can't open EPUB files",
    "My power tool broke",
    "The garden tools can't stay outside in winter",
    "I don't read on my phone",
    "I don't use the command line",
    "The assistant manager does not work on Mondays",
    "The writing workshop doesn't start before May",
    "The editor doesn't want long sentences",
    "She is a model and can't eat sugar",
    "We don't write files by hand",
    "Never edit files in migrations/ by hand",
    "The project's build fails on Windows without WSL",
    "The web server crashed twice in May",
    "The search function does not support umlauts yet",
    "I don't want the assistant to edit files without asking",
    "The agent must not commit to main",
    "The system uses Postgres and does not use Redis",
    "Anna's writing tool is a fountain pen, she doesn't type",
    "User's shell is fish and they don't like bash",
    "I avoid tools that don't work offline",
]


@pytest.mark.requirement("SAL-6")
@pytest.mark.parametrize("text", LIMITATIONS)
def test_what_a_failed_tool_call_taught_is_a_limitation_claim(text: str) -> None:
    assert tool_limitation_claim(text)


@pytest.mark.requirement("SAL-6")
@pytest.mark.parametrize("text", FACTS)
def test_what_the_user_says_of_their_own_life_and_work_is_no_limitation_claim(text: str) -> None:
    assert not tool_limitation_claim(text)


@pytest.mark.parametrize(
    "piece", ["ok ", "my ", "i ", "the edit tool ", "fails with ", "editing a ", "谢", "é", "\n", "👍"]
)
def test_judging_100_kb_of_anything_takes_no_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    start = time.thread_time()
    judge(text)
    tool_limitation_claim(text)
    assert time.thread_time() - start < 1


def test_a_long_text_is_read_until_it_is_clear() -> None:
    text = "We moved to Galway in May, all of us. " * 100_000
    start = time.thread_time()
    assert judge(text).salient
    assert time.thread_time() - start < 0.5
