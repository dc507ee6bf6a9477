"""What a host puts before the user's words, under a heading, is nobody's statement: memories, rule files, answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.gate.own_words import own_words, pasted_parts
from holdfast.memory import Memory
from holdfast.model import Kind, Record
from holdfast.results import RecentRecords
from holdfast.serve.mcp.text import TextFormatter
from holdfast.settings import CompactSettings, Settings
from tests.support.memories import QUICK, assistant, user

ASK = "My brother Tomé marries in Évora on 12 June. What should I cook?"
LINES = "- I keep four goats behind the chapel.\n- I never fly; I take the night train."
RULES = "- Always write British spelling.\n- Never push to main without a review."

HANDED = {
    "a heading with a colon": f"Relevant memories:\n{LINES}\n\n{ASK}",
    "no blank line behind the list": f"Relevant memories:\n{LINES}\n{ASK}",
    "Markdown": f"## Relevant memories\n\n{LINES}\n\n## User message\n{ASK}",
    "bold": f"**Retrieved Memories**\n{LINES}\n\n{ASK}",
    "brackets": f"[Memory]\n{LINES}\n\n{ASK}",
    "signs around it": f"=== MEMORIES ===\n{LINES}\n\n{ASK}",
    "a sentence": f"Here are some relevant memories from previous conversations that may help:\n\n{LINES}\n\n{ASK}",
    "the user in the third person": f"Here is what I know about the user:\n- Keeps four goats\n- Never flies\n\n{ASK}",
    "what the assistant knows": f"What I remember about you:\n{LINES}\n\n{ASK}",
    "a label before the question": f"User memories:\n- User keeps four goats\n\nUser question: {ASK}",
    "a bold label": f"Long-term memory:\n{LINES}\n\n**Question:** {ASK}",
    "facts on the same line": f"Known facts about the user: keeps four goats, never flies.\n\n{ASK}",
    "prose": f"Stored memories:\nThe user keeps four goats. The user never flies.\n\n{ASK}",
    "earlier talks": f"Context from previous conversations:\n1. {LINES[2:]}\n\n{ASK}",
    "wrapped lines": f"Recalled memories:\n- I keep four goats behind the chapel\n  and a mule.\n\n{ASK}",
    "a tag": f"<memories>\n{LINES}\n</memories>\n\n{ASK}",
    "a rule file": f"# AGENTS.md\n\nWe keep goats.\n\n## Style\n{RULES}\n\n## Tests\nRun make goats first.\n\n{ASK}",
    "its contents": f"Contents of /home/ana/shop/CLAUDE.md (project instructions):\n\n{RULES}\n- goats\n\n{ASK}",
    "a file of memories": f"MEMORY.md:\n- The user keeps four goats.\n\n{ASK}",
    "a rule file with code": f"# CLAUDE.md\n{RULES}\n```sh\nmake goats\n```\n- Then goats.\n\n{ASK}",
    "rules for a folder": f"# AGENTS.md instructions for /ana\n\n<INSTRUCTIONS>\n{RULES}\n</INSTRUCTIONS>\n\n{ASK}",
    "rules of an editor": f"Rules from .cursorrules:\n{RULES}\n- goats\n\n---\n\n{ASK}",
    "two blocks": f"# AGENTS.md\n{RULES}\n\n## Relevant memories\n{LINES}\n\n## Task\n{ASK}",
}

OWN = {
    "facts about me": f"Some facts about me:\n{LINES}",
    "for your memory": f"For your memory:\n{LINES}",
    "memory as a word": f"Memory:\n{LINES}",
    "remember": f"Please remember:\n{LINES}",
    "add to memory": f"Add these to your memories:\n{LINES}",
    "what to know": f"Here's what you should know about me:\n{LINES}",
    "background": f"Background information:\n{LINES}",
    "memories of one's own": f"My memories of the farm:\n{LINES}",
    "memories of a place": f"Memories of Évora:\n{LINES}",
    "context": f"Relevant context:\n{LINES}",
    "a saved memory": "I have a saved memory of that day: we ate goat.",
    "a design": "User memories are kept in PostgreSQL: we chose it in May.",
    "a file one speaks of": "README.md:\n- I will rewrite the start\n- the licence is MIT",
    "a file to be written": f"Please put this into AGENTS.md:\n{RULES}",
    "the name of a file": "AGENTS.md\n\nI want it shorter.",
    "a file in a sentence": "I keep my rules in AGENTS.md and I like them short.",
    "a heading of one's own": f"## About me\n{LINES}",
    "nothing under it": "Relevant memories:",
}


@pytest.mark.requirement("ADMIT-4")
@pytest.mark.parametrize("text", HANDED.values(), ids=HANDED)
def test_what_a_host_puts_before_the_users_words_is_set_aside_and_they_are_kept(text: str) -> None:
    own = own_words(text)
    assert own.text.strip("- \n") == ASK
    assert "is not the user's own words" in own.summary


@pytest.mark.requirement("ADMIT-4", "SAL-1")
@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_what_the_user_lists_or_says_of_memories_and_files_stays_theirs(text: str) -> None:
    assert pasted_parts(text) == ()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as opened:
        yield opened


def records(memory: Memory, kind: str = "record") -> list[Record]:
    return [one for one in memory.recent(1000, kind=kind) if isinstance(one, Record)]


@pytest.mark.requirement("ADMIT-4", "API-1")
def test_an_answer_of_our_own_tools_that_is_pasted_back_says_nothing_anew(memory: Memory) -> None:
    memory.ingest("I keep four goats behind the chapel.")
    memory.ingest("I work nights as a nurse in Évora.")
    memory.flush()
    made = records(memory)
    told = TextFormatter(Settings()).format(RecentRecords(records=tuple(made)))
    assert len(made) == 2 and all(record.text in told for record in made)
    turn = memory.ingest(f"{told}\n\nMy mule is called Tobias.")
    memory.flush()
    assert {record.text: record.evidence_count for record in records(memory)} == {
        **dict.fromkeys((record.text for record in made), 1),
        "My mule is called Tobias.": 1,
    }
    assert any(one.what == "set aside" and "recalled memories" in one.reason for one in memory.why(turn.id).decisions)


@pytest.mark.requirement("ADMIT-4", "COMP-2")
def test_a_rule_file_before_the_users_words_gives_no_guidance(tmp_path: Path) -> None:
    settings = replace(QUICK, compact=CompactSettings(automatic=False))
    with Memory(tmp_path / "memory.db", "ana", settings=settings) as memory:
        memory.ingest("Always call me Captain.", session="a")
        for number in range(8):
            asked = f"# AGENTS.md\n\n{RULES}\n\nWhat is tide number {number}?"
            memory.ingest_many([user(asked), assistant("It is high.")], session="a")
        memory.flush()
        memory.compact("a", force=True)
        kept = [record.text for record in records(memory) if record.kind is Kind.GUIDANCE]
        assert "Always call me Captain." in kept
        assert not any("British" in text or "push" in text for text in kept)
