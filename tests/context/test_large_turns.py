"""The cost of a context does not depend on the size of the turns it touches; of a long one the best is shown."""

from __future__ import annotations

import time

import pytest

from holdfast.memory import Memory
from holdfast.settings import CompactSettings, ContextSettings, Settings
from tests.support.memories import OpenMemory

pytestmark = pytest.mark.requirement("TRUST-5")

PATIENT = Settings(context=ContextSettings(deadline_s=30.0), compact=CompactSettings(automatic=False))
LINE = "The harbour log of the pier lights says green at {:05}. "
ASKED = [{"role": "user", "content": "What does the harbour log say of the pier lights?"}]


def lines(count: int) -> str:
    return "".join(map(LINE.format, range(count)))


def costs(memories: list[Memory], session: str) -> list[float]:
    """Processor time of a context of each in seconds, in turn; the first ones load what is kept afterwards."""
    times: list[list[float]] = [[] for _ in memories]
    for _ in range(10):
        for memory, spent in zip(memories, times, strict=True):
            start = time.process_time()
            assert memory.context(ASKED, session).text
            spent.append(time.process_time() - start)
    return [min(spent[2:]) for spent in times]


def remembered(memory: Memory, text: str, role: str = "tool") -> Memory:
    memory.ingest_many([{"role": "user", "content": f"Harbour light {at} is green."} for at in range(50)], "old")
    memory.ingest(text, role=role, session="large")
    memory.flush()
    return memory


@pytest.mark.parametrize("session", ["large", "now"])
def test_a_context_costs_the_same_beside_a_turn_of_megabytes(open_memory: OpenMemory, session: str) -> None:
    short = remembered(open_memory(file="short.db", embedder="none", settings=PATIENT), lines(600))
    large = remembered(open_memory(file="large.db", embedder="none", settings=PATIENT), lines(300_000))
    with_short, with_large = costs([short, large], session)
    assert with_large < 1.5 * with_short


def test_the_passage_that_answers_is_shown_wherever_it_stands(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", settings=PATIENT)
    remembered(memory, f"{lines(12_000)} The spare key hangs behind the lantern. {lines(20_000)}")
    made = memory.context([{"role": "user", "content": "Where does the spare key hang?"}], "now")
    assert "The spare key hangs behind the lantern." in made.text


def test_the_passage_is_whole_behind_letters_of_several_bytes(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", settings=PATIENT)
    remembered(memory, "Ærø är på kartan 🗺. " * 10_000 + "The spare key hangs behind the lantern. " + lines(5_000))
    made = memory.context([{"role": "user", "content": "Where does the spare key hang?"}], "now")
    assert "spare key hangs behind the lantern." in made.text


@pytest.mark.parametrize("letter", ["ö", "漢", "🗺"])
def test_the_ends_of_a_long_turn_are_cut_between_letters(open_memory: OpenMemory, letter: str) -> None:
    memory = open_memory(embedder="none", settings=PATIENT)
    memory.ingest(f"first{letter * 400_001}last", role="tool", session="now")
    made = memory.context(ASKED, "now")
    assert f"first{letter}" in made.text and f"{letter}last" in made.text and "\ufffd" not in made.text
    assert "left out" in made.text and len(made.text) < 25_000
