"""What the pattern families catch, what they leave alone, and that nobody can make them slow."""

from __future__ import annotations

import time
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.gate.patterns import (
    ACTIONS,
    CONVERSATION,
    SPECIFICS,
    STRUCTURE,
    TECHNICAL,
    Family,
    Pattern,
    PatternReading,
    prose_of,
)
from holdfast.gate.score import actionability, families, nl_structure, specificity, tech_structure, technical_density
from holdfast.settings import (
    ActionWeights,
    ConversationWeights,
    GateSettings,
    GateWeights,
    SpecificityWeights,
    StructureWeights,
    TechnicalWeights,
)
from tests.support.pace import slowness

PLAIN = [
    # the seed's own mistakes, which GATE-12 names
    "Early every evening Emma eats eleven eggs.",
    "You can bring cheese and/or wine.",
    "Let's go and make dinner, the main thing is to type less.",
    "She ordered tea (green) and cake (lemon).",
    # slashes and dots
    "We are open 24/7, also on Sundays.",
    "The party is on 12/05/2026 at eight.",
    "He was born on 3.4.1985 in Turin.",
    "He/she should bring his/her passport.",
    "It costs 5 euros/kg, about 60 km/h from here.",
    "Ask for the w/o sugar one, n/a otherwise.",
    "Fruit, e.g. apples, i.e. the red ones, etc. (not pears)",
    "The app/website is lovely, and so is the doctor/nurse.",
    "Tests/exams/quizzes are all in June.",
    "My flat has a.c. and a 2.5 m ceiling.",
    "I read about Node.js and Vue.js at the library.",
    "Booking.com was cheaper than the hotel itself.",
    "The U.S. team won 3-2, i.e. by one goal.",
    "The best/worst thing was the feature/bug of the story.",
    "Release/return the books by Friday.",
    # words that are commands elsewhere
    "We should go get milk before it closes.",
    "I'll go run 5 km before breakfast.",
    "Let's go test drive the car.",
    "Go build a sandcastle with Nell.",
    "Make sure the cat sleeps inside.",
    "Make it -5 degrees and I stay in bed.",
    "He is at the helm of the ship.",
    "I have to kill some time, so I head to the park.",
    "The cargo run to Shanghai takes a month.",
    "The cat and the tail of the kite.",
    "I bought the yarn I wanted to start knitting with.",
    "They want to terraform the planet in that film.",
    "Let it go -but slowly.",
    "PS -I forgot the salt.",
    "Curl your hair, then touch the ceiling.",
    "He can source good fish and echo your order.",
    # brackets, classes, types, functions
    "Bring the book(s) and the key(s).",
    "I'm def going (maybe).",
    "The class on Monday: yoga. The class B (driving) test is in May.",
    "My blood type is A, his type is B.",
    "The function of the heart (mostly) is to pump.",
    "The wedding function (evening) was fun (really).",
    "Private school (expensive) or public school (free)?",
    "fun game(s): charades, mostly",
    "const is not a word my grandmother knew",
    "At the party: I met 5 people",
    "at the corner (by the shop) I turned left",
    # errors, panic, tests
    "Trial and error: a memoir.",
    "Error after error, we lost the match.",
    "Panic: I lost my keys again!",
    "There is no exception to this rule.",
    "COVID-19 got us all in 2021.",
    "The zip code is 90210 and the exit is number 12.",
    "Food with E621 gives me headaches.",
    "I was only joking, said in jest.",
    "Assert yourself in meetings.",
    "The unit test in maths is on Friday.",
    "My iPhone(s) both broke.",
    # numbers and names that look like ids
    "He defaced a facade and acceded to a decade of dead beef.",
    "Call me on 0171 5550123 or 1234567.",
    "Our flight is QK 482 to Asturias.",
    "We are #1, the #2 seed lost.",
    # deeds that are not technical
    "We decided to have pizza instead of pasta.",
    "I fixed the fence and solved the crossword.",
    "I changed my flight and set the table.",
    "They released the new album and it shipped on Monday.",
    "The river and the stream merged near the main road.",
    "I switched from coffee to tea.",
    "We replaced the sofa with a bench.",
    "Import taxes are high this year.",
    "import taxes",
    "My sister Anna lives in Rome and has two dogs",
    "我妹妹住在罗马，有两只狗。",
    "Моя сестра живёт в Риме и/или в Милане.",
]


@pytest.mark.requirement("GATE-12")
@pytest.mark.parametrize("text", PLAIN)
def test_plain_english_fires_no_technical_family(text: str) -> None:
    fired = families(text)
    assert {signal: fired[signal] for signal in ("t", "p", "a", "dtech") if fired[signal]} == {}
    assert technical_density(text) == specificity(text) == actionability(text) == tech_structure(text) == 0


TECHNICAL_SNIPPETS = [
    ("t", "code_fence", "look:\n```\nx\n```"),
    ("t", "code_fence", "~~~sh\nls\n~~~"),
    ("t", "stack_trace", "panic: runtime error: index out of range [3] with length 3"),
    ("t", "stack_trace", 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>'),
    ("t", "stack_trace", "ValueError: invalid literal for int()"),
    ("t", "stack_trace", "    at com.shop.Cart.add(Cart.java:42)"),
    ("t", "stack_trace", "  at add (/srv/app/cart.js:4:2)"),
    ("t", "stack_trace", "thread 'main' panicked at src/main.rs:4:5"),
    ("t", "stack_trace", "goroutine 1 [running]:"),
    ("t", "stack_trace", "Caused by: java.lang.IllegalStateException: closed"),
    ("t", "stack_trace", "#0  0x00007f3a in main ()"),
    ("t", "file_path", "see /etc/nginx/nginx.conf"),
    ("t", "file_path", "it is in ~/notes"),
    ("t", "file_path", "run ./build.sh"),
    ("t", "file_path", r"under C:\Users\anna\app"),
    ("t", "file_path", "edit src/holdfast/gate/score.py."),
    ("t", "file_path", "main.go, util.h and App.tsx"),
    ("t", "file_path", "don't touch migrations/ by hand"),
    ("t", "file_path", "the Dockerfile is gone"),
    ("t", "file_path", "add it to .gitignore"),
    ("t", "function_definition", "def total(cart):"),
    ("t", "function_definition", "async function load(id) {"),
    ("t", "function_definition", "const add = (a, b) => a + b"),
    ("t", "function_definition", "func (c *Cart) Add(item Item) error {"),
    ("t", "function_definition", "pub fn add(a: i32) -> i32 {"),
    ("t", "function_definition", "public static void main(String[] args) {"),
    ("t", "function_definition", "int main(void) {"),
    ("t", "function_definition", "fun total(cart: Cart): Int = 3"),
    ("t", "shell_command", "$ ls"),
    ("t", "shell_command", "git push origin"),
    ("t", "shell_command", "run `make check` first"),
    ("t", "shell_command", "pip install holdfast"),
    ("t", "shell_command", "docker compose up -d"),
    ("t", "shell_command", "go test ./..."),
    ("t", "shell_command", "rm -rf build"),
    ("t", "shell_command", "curl -s localhost"),
    ("t", "shell_command", "journalctl | grep slipway"),
    ("t", "shell_command", "kubectl get pods"),
    ("t", "url", "https://example.org/docs"),
    ("t", "url", "postgres://db:5432/app"),
    ("t", "url", "it listens on localhost:8417"),
    ("t", "url", "GET /users/{id} is slow"),
    ("t", "url", "call /api/v1/berths"),
    ("t", "url", "the router is 192.168.40.1"),
    ("t", "hash", "broken since 9c41f7e"),
    ("t", "hash", "id 550e8400-e29b-41d4-a716-446655440000"),
    ("t", "hash", "at 0x7ffdeadb"),
    ("p", "error_code", "it says ENOENT"),
    ("p", "error_code", "ORA-00942 again"),
    ("p", "error_code", "error[E0382]: borrow of moved value"),
    ("p", "error_code", "we get HTTP 502"),
    ("p", "error_code", "exit code 137"),
    ("p", "error_code", "a KeyError in the loop"),
    ("p", "git_reference", "it's commit 9c41f7e"),
    ("p", "git_reference", "see PR #501"),
    ("p", "git_reference", "on feature/lock-order"),
    ("p", "git_reference", "merged into main"),
    ("p", "git_reference", "reset to HEAD~2"),
    ("p", "function_reference", "call total() twice"),
    ("p", "function_reference", "cart.add(item) fails"),
    ("p", "function_reference", "use std::vector here"),
    ("p", "function_reference", "get_user(1) and getUser(1)"),
    ("a", "architecture_decision", "We decided on Postgres for the queue"),
    ("a", "architecture_decision", "Decision: one database, no Redis"),
    ("a", "architecture_decision", "I've moved slipway from Poetry to uv"),
    ("a", "fix", "fixed the race condition in the worker"),
    ("a", "fix", "The root cause was a stale cache"),
    ("a", "configuration_change", "I bumped us to Python 3.13"),
    ("a", "configuration_change", "set max_clock.offset = 90 in berths.toml"),
    ("a", "configuration_change", "moved to port 9417"),
    ("a", "milestone", "deployed to production this morning"),
    ("a", "milestone", "released v2.1 today"),
    ("dtech", "data_structure", "class Cart(Base):\n    pass"),
    ("dtech", "data_structure", "type Cart struct {"),
    ("dtech", "data_structure", "CREATE TABLE carts (id int)"),
    ("dtech", "data_structure", '{"id": 3}'),
    ("dtech", "dependency", "from dataclasses import dataclass"),
    ("dtech", "dependency", "import numpy as np"),
    ("dtech", "dependency", "numpy>=2.0"),
    ("dtech", "dependency", "#include <stdio.h>"),
    ("dtech", "test", "def test_it_adds():"),
    ("dtech", "test", "it('adds', () => {})"),
    ("dtech", "test", "the integration tests are red"),
    ("dtech", "documentation_comment", '"""Add an item."""'),
    ("dtech", "documentation_comment", "/** Adds an item. */"),
    ("dtech", "documentation_comment", ":param cart: the cart"),
]


@pytest.mark.requirement("GATE-2", "GATE-6", "GATE-7", "GATE-8")
@pytest.mark.parametrize(("signal", "family", "text"), TECHNICAL_SNIPPETS)
def test_a_technical_text_fires_its_family(signal: str, family: str, text: str) -> None:
    assert family in families(text)[signal]


CONVERSATIONAL = [
    ("preference", "I really like jazz"),
    ("preference", "my favourite colour is green"),
    ("preference", "I’d rather walk"),
    ("preference", "she can't stand flying"),
    ("preference", "always answer in metric"),
    ("date", "the review is on Tuesday"),
    ("date", "born on 2 May 1985"),
    ("date", "on 12/05/2026"),
    ("date", "since 2011"),
    ("date", "on 2026-11-15"),
    ("date", "来年の3月15日"),
    ("human_name", "my partner Ruairí"),
    ("human_name", "Call me Bree"),
    ("human_name", "our vet, Dr Nwosu"),
    ("human_name", "Anna is my sister"),
    ("human_name", "our dog is called Rex"),
    ("fact_assertion", "my sister lives in Rome"),
    ("fact_assertion", "I'm allergic to kiwi"),
    ("fact_assertion", "We have mostly books"),
    ("fact_assertion", "the team uses Zulip"),
    ("quantity", "he weighs 14 kg"),
    ("quantity", "two dogs"),
    ("quantity", "it costs €640"),
    ("quantity", "twice a day"),
]


@pytest.mark.requirement("GATE-5")
@pytest.mark.parametrize(("family", "text"), CONVERSATIONAL)
def test_what_a_person_tells_fires_its_family(family: str, text: str) -> None:
    assert family in families(text)["d"]


@pytest.mark.requirement("GATE-5")
@pytest.mark.parametrize(
    "text",
    [
        "Redis",
        "We saw Rome",
        "Postgres and Kafka",
        "Monty Python",
        "use Helix",
        "May I march on?",
        "Python 3.12 is out",
    ],
)
def test_a_capital_letter_is_no_human_name_and_a_modal_verb_no_date(text: str) -> None:
    assert not {"human_name", "date"} & set(families(text)["d"])


CODE = [
    "def price(order, customer):\n    # I prefer Decimal, my sister Anna likes floats\n    return order.total * 2",
    'import os\n\n\nclass Cart:\n    """Since 2019, by Dr Jones."""\n\n    items = 3\n\n    def add(self, item):\n'
    "        self.items.append(item)\n",
    "const me = { name: 'Anna', age: 38 };\nfunction greet(you) {\n  return `I love ${you}`;\n}",
    "package main\n\nfunc main() {\n\tfmt.Println(\"I like May 1st\")\n}",
    "SELECT name, born FROM people WHERE born > '2001-05-03'\nORDER BY name;",
    "```\nI prefer two dogs on Monday, my sister Anna is 12 kg\n```",
    "$ git log --since=2024-01-01\n$ make -j4",
    '{\n  "name": "Anna",\n  "born": "1985-05-03",\n  "weight": "14 kg"\n}',
    "for (int i = 0; i < 10; i++) {\n  total += prices[i];  // two dogs, $5, on Monday\n}",
    "<p>I love my sister Anna</p>\n<b>12 kg</b>",
]  # fmt: skip


@pytest.mark.requirement("GATE-5", "GATE-10")
@pytest.mark.parametrize("code", CODE)
def test_conversational_structure_hardly_fires_on_pure_code(code: str) -> None:
    assert nl_structure(code) <= 0.3


@pytest.mark.requirement("GATE-5")
def test_the_sentences_around_code_still_count() -> None:
    text = "I prefer this for my sister Anna:\n```python\ntotal = 3\n```"
    assert prose_of(text).text.strip() == "I prefer this for my sister Anna:"
    assert nl_structure(text) >= 0.7


@pytest.mark.requirement("GATE-5")
@pytest.mark.parametrize(
    "text",
    [
        "for the party:\n* I prefer tea\n* two cakes",
        "I prefer tea;\nI hate coffee;",
        "use the stairs.",
        "class starts at 9:",
    ],
)
def test_lists_and_poems_are_prose(text: str) -> None:
    assert prose_of(text).text == text


# The arithmetic.


@pytest.mark.requirement("GATE-2")
def test_density_is_the_sum_of_what_fired_over_the_norm_and_saturates() -> None:
    assert technical_density("hello there") == 0
    assert technical_density("see https://example.org") == pytest.approx(0.3 / 1.5)
    assert technical_density("```\nsrc/app/main.py\n```") == pytest.approx(0.9 / 1.5)
    assert technical_density("src/app/main.py src/app/cart.py") == pytest.approx(0.4 / 1.5)  # once each, however often
    everything = "```\npanic: runtime error\n$ git push\n```\ndef f(x):\n/etc/hosts https://a.example 9c41f7e"
    assert technical_density(everything) == 1
    assert technical_density(
        "see https://example.org", GateSettings(weights=GateWeights(technical_norm=0.6))
    ) == pytest.approx(0.5)


@pytest.mark.requirement("GATE-6")
def test_specificity_counts_what_is_named_per_hundred_tokens() -> None:
    assert specificity("a KeyError") == pytest.approx(0.5)
    assert specificity("a.py") == 0  # one letter is no name of a file
    assert specificity("cart.py") == pytest.approx(0.4)
    assert specificity("cart.py shop.py") == pytest.approx(0.8)
    assert specificity("cart.py shop.py till.py") == 1
    padded = "cart.py " + "x " * 796  # 1,600 code points: L = 400, so a quarter
    assert len(padded) == 1600
    assert specificity(padded) == pytest.approx(0.1)
    assert specificity("cart.py " + "я " * 796) == pytest.approx(0.1)  # code points, not bytes


@pytest.mark.requirement("GATE-5", "GATE-7", "GATE-8")
def test_the_other_sums_are_capped_at_one() -> None:
    assert nl_structure("My sister Anna lives in Rome and has two dogs") == pytest.approx(0.3 + 0.3 + 0.2)
    assert nl_structure("I prefer that my sister Anna visits on Monday, she has two dogs") == 1
    assert actionability("fixed the crash") == pytest.approx(0.4)
    assert actionability("We decided on Postgres, fixed the crash, set DATABASE_URL and deployed to production") == 1
    assert tech_structure("def f(x):") == pytest.approx(0.4)
    whole = 'import os\nclass Cart(Base):\n    """Doc."""\ndef test_it():\n    assert f(x) == 1'
    assert tech_structure(whole) == 1


@pytest.mark.requirement("GATE-2", "GATE-5", "GATE-6", "GATE-7", "GATE-8")
def test_every_family_has_a_weight_and_every_weight_a_family() -> None:
    for group, weights in (
        (TECHNICAL, TechnicalWeights),
        (CONVERSATION, ConversationWeights),
        (SPECIFICS, SpecificityWeights),
        (ACTIONS, ActionWeights),
        (STRUCTURE, StructureWeights),
    ):
        assert [family.name for family in group] == [part.name for part in fields(weights)]


def test_a_weight_can_be_changed() -> None:
    settings = GateSettings(weights=GateWeights(technical_families=TechnicalWeights(url=1.5)))
    assert technical_density("https://example.org", settings) == 1


def test_only_the_beginning_of_a_very_long_text_is_read() -> None:
    assert technical_density("x " * 20_000 + "https://example.org") == 0
    assert technical_density("https://example.org" + "x " * 20_000) > 0


@given(st.text(max_size=400) | st.lists(st.sampled_from(PLAIN + CODE), max_size=4).map("\n".join))
def test_every_signal_stays_in_its_bounds(text: str) -> None:
    for signal in (technical_density, nl_structure, specificity, actionability, tech_structure):
        assert 0 <= signal(text) <= 1
        assert signal(text) == signal(text)


# Nobody can make them slow.

PATTERNS = {
    f"{family.name}[{place}]": pattern
    for group in (TECHNICAL, SPECIFICS, STRUCTURE, ACTIONS, CONVERSATION)
    for family in group
    for place, pattern in enumerate(family.patterns)
}
NASTY = [
    *["a", " ", "\n", "a.", "a/", "a-", "1.", "1,", "f0", "a(", '"', "`", "a::", "Aa", "é"],
    *["my ", "I am ", "replaced a ", "static ", "class A(", "at a (", "`git ", "10 "],
]
_LIMIT_S = 0.1  # 20 to 50 ms on an idle core; a pattern that is not linear takes minutes


def _seconds(pattern: Pattern, reading: PatternReading) -> float:
    best = 1e9
    for _ in range(5):  # the machine may be busy; the pattern is as fast as its best run
        start = time.thread_time()
        pattern.count(reading)
        best = min(best, time.thread_time() - start)
        if best < _LIMIT_S:
            break
    return best


@pytest.mark.requirement("GATE-2", "GATE-5", "GATE-6", "GATE-7", "GATE-8")
@pytest.mark.parametrize("piece", NASTY)
def test_every_pattern_reads_100_kb_of_anything_at_once(piece: str) -> None:
    reading, most = PatternReading.of((piece * 100_000)[:100_000]), _LIMIT_S * slowness()
    slow = {name: took for name, pattern in PATTERNS.items() if (took := _seconds(pattern, reading)) >= most}
    assert slow == {}


@pytest.mark.parametrize("piece", NASTY)
def test_prose_is_told_from_code_in_linear_time(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    start = time.thread_time()
    prose_of(text)
    assert time.thread_time() - start < 1


def test_a_family_with_two_patterns_needs_both() -> None:
    fix = next(family for family in ACTIONS if family.name == "fix")
    assert isinstance(fix, Family)
    assert fix.fires(PatternReading.of("fixed the crash"))
    assert not fix.fires(PatternReading.of("fixed the fence"))
    assert not fix.fires(PatternReading.of("saw the crash"))
