"""Themes of a period."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import repeat

import pytest

from holdfast.errors import InputError
from holdfast.insight.clusters import ThemeSizes
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.models.embedder import StaticEmbedder
from holdfast.results import Themes
from holdfast.settings import ChatSettings, Settings
from holdfast.testing import FixedClock, ScriptedChat
from tests.support.memories import QUICK, OpenMemory, assistant, ingest_month, user

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)

GARDEN = [
    "The tomato seedlings in the greenhouse need more compost this spring.",
    "I planted beans and tomato seedlings behind the greenhouse.",
    "Slugs ate the lettuce seedlings, so the greenhouse door stays shut.",
    "How much compost do lettuce and beans want in the raised bed?",
    "The greenhouse is full: tomato plants, basil and lettuce.",
    "Watering the seedlings at dawn keeps the slugs away from the lettuce.",
]
ROWING = [
    "Our rowing crew trains on the canal before the regatta.",
    "The coxswain wants longer strokes from the crew on the canal.",
    "My oar cracked during the regatta, the crew lent me another oar.",
    "Which stroke rate should a rowing crew hold in a headwind?",
    "The regatta starts at the lock, the crew rows four kilometres.",
    "Blisters from the oar again; the coxswain laughed at my strokes.",
]
OVEN = [
    "The pizza oven reaches four hundred degrees with dry oak.",
    "I let the pizza dough rise for two days before it meets the oven.",
    "Dough with more water gives the pizza a softer crust.",
    "Oak burns hotter than birch in the pizza oven, the crust chars.",
    "Mozzarella makes the crust wet, so drain it before baking pizza.",
    "The dough tore because the flour was old; the oven was ready.",
]
TOPICS = (GARDEN, ROWING, OVEN)


def tell(memory: Memory, rounds: int = 1, start: int = 0) -> None:
    """Ingest each topic in sessions of its own day."""
    for number in range(start, start + rounds):
        for place, topic in enumerate(TOPICS):
            at = NOW - timedelta(days=20 - number, hours=place)
            turns = [user(f"{text}{' Yes.' * number}", at=at + timedelta(minutes=i)) for i, text in enumerate(topic)]
            memory.ingest_many(
                [*turns, assistant("All right.", at=at + timedelta(minutes=9))], session=f"{place}-{number}"
            )
    memory.flush()


@pytest.fixture
def told(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> Memory:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    tell(memory, rounds=2)
    return memory


def topic_of(turn: Turn) -> int:
    return int(turn.session.split("-")[0])


def groups(themes: Themes) -> list[set[int]]:
    return [{topic_of(turn) for turn in theme.examples} for theme in themes]


@pytest.mark.requirement("RECALL-8")
def test_topics_become_themes_with_labels_and_examples(told: Memory) -> None:
    themes = told.themes()
    assert len(themes) >= 3 and all(len(group) == 1 for group in groups(themes))
    assert {topic for group in groups(themes) for topic in group} == {0, 1, 2}
    words = {
        topic: " ".join(theme.words) for group, theme in zip(groups(themes), themes, strict=True) for topic in group
    }
    assert any(word in words[0] for word in ("greenhouse", "seedlings", "lettuce"))
    assert any(word in words[1] for word in ("regatta", "crew", "oar"))
    assert any(word in words[2] for word in ("pizza", "dough", "oven", "crust"))
    for theme in themes:
        assert theme.label == ", ".join(theme.words) and theme.turns >= 3 and theme.sessions >= 1
        assert theme.first <= min(turn.at for turn in theme.examples) <= theme.last
        assert theme.title is None and theme.summary is None
    assert [theme.turns for theme in themes] == sorted((theme.turns for theme in themes), reverse=True)
    assert themes.digest is None and themes.receipt.reason.startswith("grouped by meaning")


@pytest.mark.requirement("RECALL-8", "INV-5")
def test_without_an_embedder_turns_are_grouped_by_words(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", clock=FixedClock(NOW))
    tell(memory, rounds=2)
    themes = memory.themes()
    assert {topic for group in groups(themes) for topic in group} == {0, 1, 2}
    assert all(len(group) == 1 for group in groups(themes))
    assert themes.receipt.reason.startswith("grouped by words")


@pytest.mark.requirement("RECALL-8", "RECALL-9")
def test_unknown_scripts_are_grouped_by_words(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    said = [
        "温室的番茄需要堆肥",
        "番茄和豆子种在温室后面",
        "温室里有很多番茄",
        "划船队在运河训练",
        "划船队明天去运河比赛",
        "运河上的划船队很快",
    ]
    memory.ingest_many([user(text, at=NOW - timedelta(days=1)) for text in said], session="s")
    memory.flush()
    themes = memory.themes()
    assert themes.receipt.reason.startswith("grouped by words")
    assert any("番茄" in theme.label or "温室" in theme.label for theme in themes)


@pytest.mark.requirement("RECALL-8")
def test_the_same_turns_give_the_same_themes(told: Memory) -> None:
    first = list(told.themes())
    assert list(told.themes()) == first
    told.rebuild()
    assert list(told.themes()) == first


@pytest.mark.requirement("RECALL-8")
def test_a_few_more_turns_change_themes_little(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(datetime(2026, 10, 1, tzinfo=UTC)))
    ingest_month(memory)
    memory.flush()
    before = memory.themes(since=None)
    for text in ("The heron stood on the pier again.", "Is the kettle still leaking?", "I lost one glove on the bus."):
        memory.ingest(text, session="later", at="2026-09-30")
    memory.flush()
    after = memory.themes(since=None)
    words = Counter(word for theme in before for word in theme.words)
    kept = sum(words[word] > 0 for theme in after for word in theme.words)
    assert kept >= 0.8 * sum(len(theme.words) for theme in after)


@pytest.mark.requirement("RECALL-8")
def test_themes_respect_period_limit_and_forgotten_turns(told: Memory) -> None:
    assert len(told.themes(limit=1)) == 1
    assert told.themes(since="2026-05-30") == [] and told.themes(until="2026-05-01") == []
    assert told.themes(since="2026-05-30").receipt.reason == "nothing was said in this time"
    early = told.themes(until="2026-05-12")
    assert early and all(theme.last < datetime(2026, 5, 12, tzinfo=UTC) for theme in early)
    for turn in told.recent(100):
        if topic_of(turn) == 1:
            told.forget(turn.id)
    assert {topic for group in groups(told.themes()) for topic in group} == {0, 2}
    with pytest.raises(InputError):
        told.themes(limit=0)
    with pytest.raises(InputError):
        told.themes(since="some day")


@pytest.mark.requirement("RECALL-8", "INV-4")
def test_themes_stay_in_their_namespace(told: Memory, open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    other = open_memory("bo", embedder=static_embedder, clock=FixedClock(NOW))
    assert other.themes() == []
    other.ingest_many([user(text, at=NOW - timedelta(days=1)) for text in OVEN], session="o-0")
    other.flush()
    assert all("regatta" not in theme.label and "greenhouse" not in theme.label for theme in other.themes())


@pytest.mark.requirement("RECALL-8")
def test_many_turns_are_sampled_evenly(open_memory: OpenMemory) -> None:
    settings = replace(QUICK, _tuning=(ThemeSizes(turns=100, seeded=50),))
    memory = open_memory(settings=settings, clock=FixedClock(NOW))
    tell(memory, rounds=12)
    themes = memory.themes()
    stages = {stage.name: stage for stage in themes.receipt.stages}
    assert (stages["turns"].count, stages["read"].count) == (12 * 3 * 7, 100)
    assert sum(theme.turns for theme in themes) <= 100
    assert {topic for group in groups(themes) for topic in group} == {0, 1, 2}


@pytest.mark.requirement("RECALL-8")
def test_few_turns_about_one_thing_are_one_theme(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    memory.ingest_many([user(text, at=NOW) for text in OVEN[:4]], session="2-0")
    memory.flush()
    (theme,) = memory.themes()
    assert theme.turns == 4 and "pizza" in theme.label


# --- with a chat model


def chatting(server: ScriptedChat) -> Settings:
    """Leave records out."""
    chat = ChatSettings(model=f"{server.url}#small")
    return replace(QUICK, chat=chat, admit=replace(QUICK.admit, enabled=False))


def answer(body: object) -> str:
    shape = str(body)
    if "'digest'" in shape:
        return '{"digest": "A month of beds, boats and bread."}'
    return '{"title": "A title", "summary": "One sentence."}'


@pytest.mark.requirement("RECALL-8")
def test_a_chat_model_describes_each_theme_and_then_all(open_memory: OpenMemory) -> None:
    with ScriptedChat(repeat(answer)) as server:
        memory = open_memory(settings=chatting(server), clock=FixedClock(NOW))
        tell(memory)
        memory.ingest(
            "My password is hunter2-Kq83xLm0, the crew asked for it at the regatta.",
            session="1-9",
            at=NOW - timedelta(days=2),
        )
        memory.flush()
        themes = memory.themes(limit=3)
        assert themes.digest == "A month of beds, boats and bread." and themes.receipt.degraded is None
        assert {(theme.title, theme.summary) for theme in themes} == {("A title", "One sentence.")}
        assert len(server.requests) == len(themes) + 1
        assert "hunter2" not in str([request.body for request in server.requests])
        asked = len(server.requests)
        assert memory.themes(digest=False).digest is None and len(server.requests) == asked


@pytest.mark.requirement("RECALL-8")
def test_a_fenced_model_answer_is_accepted(open_memory: OpenMemory) -> None:
    with ScriptedChat(repeat(lambda body: f"```json\n{answer(body)}\n```")) as server:
        memory = open_memory(settings=chatting(server), clock=FixedClock(NOW))
        tell(memory)
        themes = memory.themes()
    assert themes.digest == "A month of beds, boats and bread." and themes.receipt.degraded is None


@pytest.mark.requirement("RECALL-8", "INV-5")
@pytest.mark.parametrize("reply", [500, "no JSON at all", '{"title": "", "summary": "x"}', '{"title": 3}'])
def test_a_failing_model_leaves_the_themes_unchanged(open_memory: OpenMemory, reply: int | str) -> None:
    with ScriptedChat(repeat(reply)) as server:
        memory = open_memory(settings=chatting(server), clock=FixedClock(NOW))
        tell(memory)
        themes = memory.themes()
        assert len(server.requests) <= 2
    assert themes and themes.digest is None and all(theme.title is None for theme in themes)
    assert themes.receipt.degraded is not None and "did not describe all themes" in themes.receipt.degraded


@pytest.mark.requirement("RECALL-8")
def test_answers_before_a_model_failure_are_kept(open_memory: OpenMemory) -> None:
    with ScriptedChat([answer, 500]) as server:
        memory = open_memory(settings=chatting(server), clock=FixedClock(NOW))
        tell(memory)
        themes = memory.themes()
    assert [theme.title for theme in themes][:2] == ["A title", None] and themes.receipt.degraded is not None


@pytest.mark.requirement("RECALL-8")
def test_a_digest_needs_a_chat_model(told: Memory) -> None:
    with pytest.raises(InputError, match=r"set chat\.model"):
        told.themes(digest=True)
