"""Records by hand: get, list, correct, confirm and upsert them, and take back the last turn."""

from __future__ import annotations

import pytest

from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from holdfast.model import Kind, Provenance, Record
from tests.support.memories import OpenMemory, texts

pytestmark = pytest.mark.requirement("BEL-10")


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory()


def listed(memory: Memory, **given: str) -> list[str]:
    return [record.text for record in memory.records(given.get("kind"), given.get("about"), given.get("query"))]


def test_a_correction_is_the_users_own_statement_and_the_old_text_is_forgotten(memory: Memory) -> None:
    old = memory.remember("The spare key is with Zofia", origin="agent")
    new = memory.update(old.id, "The spare key is with Ana")
    assert (new.text, new.kind, new.provenance) == ("The spare key is with Ana", Kind.FACT, Provenance.USER_STATED)
    assert listed(memory) == [new.text]
    assert any(old.id in decision.reason for decision in memory.why(new.id).decisions)
    known = memory.get(old.id)
    assert known.text == old.text
    memory.forget(new.id)
    memory.forget(old.id, undo=True)
    assert listed(memory) == [old.text]


def test_a_record_is_confirmed_by_an_update_without_a_text(memory: Memory) -> None:
    note = memory.remember("Ana is allergic to peanuts", origin="agent")
    assert note.provenance is Provenance.AGENT_NOTED
    made = memory.update(note.id)
    assert (made.text, made.provenance, made.confidence) == (note.text, Provenance.USER_STATED, 1.0)
    assert listed(memory) == [note.text]


def test_the_kind_of_a_record_can_be_corrected(memory: Memory) -> None:
    made = memory.update(memory.remember("Answer in French.").id, kind="guidance")
    assert (made.kind, made.text) == (Kind.GUIDANCE, "Answer in French.")


def test_a_turn_and_an_unknown_id_cannot_be_updated(memory: Memory) -> None:
    turn = memory.ingest("I live in Lisbon")
    with pytest.raises(InputError, match="kept as it was said"):
        memory.update(turn.id, "I live in Porto")
    with pytest.raises(NotFound, match="r-unknown"):
        memory.update("r-unknown", "I live in Porto")
    assert memory.get(turn.id) == turn


def test_a_key_gets_a_new_text_only_with_upsert(memory: Memory) -> None:
    first = memory.remember("Lives in Lisbon", key="home")
    assert memory.remember("Lives in Porto", key="home").id == first.id
    second = memory.remember("Lives in Porto", key="home", upsert=True)
    assert memory.remember("Lives in Porto", key="home", upsert=True).id == second.id
    third = memory.remember("Lives in Lisbon", key="home", upsert=True)
    assert listed(memory) == ["Lives in Lisbon"] and third.id not in (first.id, second.id)
    assert memory.remember("Works at night", key="job", upsert=True).text == "Works at night"
    with pytest.raises(InputError, match="upsert needs the key"):
        memory.remember("Lives in Faro", upsert=True)


def test_records_are_listed_by_kind_name_and_words_page_by_page(memory: Memory) -> None:
    made = [memory.remember(f"Ana has {number} boats") for number in range(5)]
    memory.remember("Ben has a boat", kind="preference")
    assert listed(memory, kind="preference") == ["Ben has a boat"]
    assert listed(memory, about="ben") == ["Ben has a boat"]
    assert listed(memory, about="Ana", query="3 boats") == ["Ana has 3 boats"]
    pages, before = list[Record](), None
    while page := memory.records(about="Ana", limit=2, before=before):
        pages, before = pages + page, page[-1].id
    assert [record.id for record in pages] == [record.id for record in reversed(made)]
    with pytest.raises(NotFound, match="r-unknown"):
        memory.records(before="r-unknown")
    with pytest.raises(InputError, match="no word"):
        memory.records(query="?!")


@pytest.mark.requirement("KEEP-4")
def test_the_last_turn_of_a_session_can_be_taken_back(memory: Memory) -> None:
    memory.ingest_many([{"role": "user", "content": text} for text in ("one", "two", "three")], session="s1")
    memory.ingest("another", session="s2")
    memory.erase(session="s1", last=True)
    assert texts(memory.thread("s1")) == ["one", "two"]
    memory.erase(session="s1", last=True)
    assert texts(memory.thread("s1")) == ["one"] and texts(memory.thread("s2")) == ["another"]
    with pytest.raises(InputError, match="give session=NAME"):
        memory.erase(last=True)
    with pytest.raises(NotFound):
        memory.erase(session="nowhere", last=True)
