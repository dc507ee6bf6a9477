"""Erase destroys exactly what is named with everything derived from it, and it does not come back."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from holdfast.aio import AsyncMemory
from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from holdfast.model import Entry, Record
from holdfast.models.chat import ChatLimits
from holdfast.settings import CompactSettings
from holdfast.testing import FailingEmbedder, HashEmbedder, ScriptedChat
from tests.support.memories import EAGER, QUICK, OpenMemory, answers, assistant, texts, user
from tests.support.people import own_words, talk

pytestmark = pytest.mark.requirement("KEEP-4")

PARROT = [
    user("I keep a parrot called Quetzalina."),
    assistant("Quetzalina is a lovely name."),
    user("I work as a cartographer in Ljubljana."),
    assistant("Ljubljana has fine maps."),
    user("Thanks!"),
]


def records(memory: Memory) -> list[Record]:
    return [one for one in memory.recent(1000, kind="record") if isinstance(one, Record)]


def bytes_of(path: Path) -> bytes:
    """Return every byte of the store's files; the store must be closed, or reading would drop its locks."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


def everything(memory: Memory) -> str:
    """Return the export and all answers of a memory as one text."""
    out = io.BytesIO()
    memory.export(out)
    return out.getvalue().decode() + json.dumps(answers(memory), default=str, ensure_ascii=False)


@pytest.mark.requirement("INV-1")
def test_an_erased_turn_is_gone_from_log_search_and_files(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(settings=EAGER)
    turns = memory.ingest_many(PARROT, session="pets")
    memory.flush()
    made = memory.erase(turn=turns[2].id, prove=True)
    assert (made.scope, made.turns, made.records, made.pending) == ("turn", 1, 1, None)
    assert made.proof is not None and made.proof.found == 0 and made.proof.strings > 3
    assert texts(memory.thread("pets")) == [str(one["content"]) for at, one in enumerate(PARROT) if at != 2]
    assert [one.text for one in records(memory)] == ["I keep a parrot called Quetzalina."]
    assert "cartographer" not in everything(memory)
    with pytest.raises(NotFound, match=r"was erased on .* nothing of it is kept"):
        memory.why(turns[2].id)
    memory.close()
    left = bytes_of(tmp_path / "memory.db")
    assert b"cartographer" not in left and turns[2].id.encode() not in left
    assert b"Quetzalina" in left and b"Ljubljana" in left


def test_an_erased_session_goes_with_its_name_and_its_compactions(memory: Memory, tmp_path: Path) -> None:
    memory.ingest_many(talk(1) * 4, session="Vlodrakesh chat")
    memory.ingest_many(PARROT, session="pets")
    memory.flush()
    assert memory.compact("Vlodrakesh chat", force=True).did_compact
    made = memory.erase(session="Vlodrakesh chat", prove=True)
    assert (made.turns, made.sessions, made.remade) == (48, 1, 0) and made.digests > 1
    assert made.proof is not None and made.proof.found == 0
    assert memory.thread("Vlodrakesh chat") == [] and len(memory.thread("pets")) == 5
    assert memory.recent(100, kind="summary") == [] and memory.recent(100, kind="guidance") == []
    memory.close()
    left = bytes_of(tmp_path / "memory.db").lower()
    assert [word for word in (*own_words(1), "vlodrakesh") if word.lower().encode() in left] == []


@pytest.mark.requirement("SAFE-5")
def test_erasing_the_namespace_al_leaves_alice(open_memory: OpenMemory, tmp_path: Path) -> None:
    al, alice = open_memory("al", settings=EAGER), open_memory("alice", settings=EAGER)
    al.ingest_many(talk(1), session="s")
    al.remember("Kwezimbaru is the password hint")
    alice.ingest_many(talk(2), session="s")
    al.flush()
    alice.flush()
    before = answers(alice)
    made = al.erase(namespace=True, prove=True)
    assert (made.turns, made.sessions) == (12, 1) and made.proof is not None and made.proof.found == 0
    assert answers(alice) == before
    assert al.recent(10) == [] and al.search("tortoise") == [] and records(al) == []
    status = al.status()
    assert (status.turns, status.sessions, status.records, status.erased) == (0, 0, 0, 13)
    al.close()
    alice.close()
    left = bytes_of(tmp_path / "memory.db").lower()
    assert [word for word in (*own_words(1), "kwezimbaru") if word.lower().encode() in left] == []
    assert own_words(2)[0].lower().encode() in left


def test_erasing_the_session_al_leaves_the_session_alice(memory: Memory) -> None:
    memory.ingest("one", session="al")
    memory.ingest("two", session="alice")
    memory.erase(session="al")
    assert texts(memory.thread("alice")) == ["two"] and memory.thread("al") == []


def test_erasing_a_remembered_record_also_erases_its_forget_act(memory: Memory, tmp_path: Path) -> None:
    kept = memory.remember("Deploys happen on Fridays")
    gone = memory.remember("The Brouwkelder opens with the code 77120934")
    memory.forget(gone.id)
    made = memory.erase(record=gone.id, prove=True)
    assert (made.records, made.acts, made.still_said) == (1, 1, ())
    assert made.proof is not None and made.proof.found == 0
    assert [one.id for one in records(memory)] == [kept.id] and memory.status().hidden == 0
    memory.close()
    assert b"Brouwkelder" not in bytes_of(tmp_path / "memory.db")


def test_an_erased_record_is_not_derived_again_and_its_turns_are_named(memory: Memory) -> None:
    turn = memory.ingest("My cousin Tzeliovar repairs clocks.", session="s")
    again = memory.ingest("My cousin Tzeliovar repairs clocks!", session="t")
    memory.flush()
    (record,) = records(memory)
    assert record.turn_ids == (turn.id, again.id)
    made = memory.erase(record=record.id)
    assert made.still_said == (turn.id, again.id) and records(memory) == []
    memory.rebuild()
    memory.ingest("My cousin Tzeliovar repairs clocks.", session="u")
    memory.flush()
    assert records(memory) == [] and len(memory.recent(10)) == 3
    assert [one.what for one in memory.why(turn.id).decisions if "erased" in one.what] == ["refused: erased"]


def test_a_merged_record_is_derived_again_from_the_remaining_turn(memory: Memory) -> None:
    first = memory.ingest("My cousin Tzeliovar repairs clocks.", session="s")
    second = memory.ingest("My cousin Tzeliovar repairs clocks.", session="t")
    memory.flush()
    memory.erase(turn=first.id)
    (record,) = records(memory)
    assert (record.turn_ids, record.evidence_count) == ((second.id,), 1)


def test_a_record_superseded_by_an_erased_turn_is_live_again(memory: Memory) -> None:
    memory.ingest("The API of our shop runs on port 8080.", session="s", at="2026-05-02T18:00:00Z")
    newer = memory.ingest("The API of our shop runs on port 9090.", session="s", at="2026-05-03T18:00:00Z")
    memory.flush()
    assert [one.text for one in records(memory)] == ["The API of our shop runs on port 9090."]
    memory.erase(turn=newer.id)
    assert [one.text for one in records(memory)] == ["The API of our shop runs on port 8080."]


def test_a_forgotten_record_stays_forgotten_when_a_turn_of_it_is_erased(memory: Memory) -> None:
    first = memory.ingest("My cousin Tzeliovar repairs clocks.", session="s")
    memory.ingest("My cousin Tzeliovar repairs clocks.", session="t")
    memory.flush()
    memory.forget(records(memory)[0].id)
    memory.erase(turn=first.id)
    assert records(memory) == []


def test_views_after_an_erase_equal_those_of_a_log_without_the_turn(open_memory: OpenMemory) -> None:
    memory, other = open_memory(settings=EAGER), open_memory(file="other.db", settings=EAGER)
    said = [
        dict(one, at=f"2026-05-0{1 + number}T10:00:{at:02d}Z")
        for number in range(3)
        for at, one in enumerate(talk(number))
    ]
    for target in (memory, other):
        for at, one in enumerate(said):
            if target is memory or at != 4:
                target.ingest(str(one["content"]), str(one["role"]), f"s{at // 12}", str(one["at"]))
        target.flush()
    memory.erase(turn=memory.thread("s0")[4].id)

    def views(target: Memory) -> object:
        found = [
            [(hit.text, round(hit.score, 5)) for hit in target.search(question, limit=40)]
            for question in ("tortoise", "spare key", "who works where")
        ]
        return found, sorted((one.text, one.kind, one.evidence_count, len(one.turn_ids)) for one in records(target))

    assert views(memory) == views(other)
    memory.rebuild()
    assert views(memory) == views(other)


def test_a_summary_of_an_erased_turn_is_remade_from_the_others(open_memory: OpenMemory) -> None:
    settings = replace(QUICK, compact=CompactSettings(automatic=False))
    memory = open_memory(settings=settings)
    turns = memory.ingest_many([one for number in range(5) for one in talk(number)], session="s")
    memory.flush()
    memory.compact("s", force=True)
    before = memory.active("s")
    covered = next(one for one in before.summaries if len(one.turn_ids) > 3)
    victim = memory.expand(covered.id)[2]
    made = memory.erase(turn=victim.id, prove=True)
    assert made.digests >= 1 and made.remade >= 1 and made.proof is not None and made.proof.found == 0
    after = memory.active("s")
    stood_for = {turn_id for one in (*after.summaries, *after.guidance) for turn_id in one.turn_ids}
    here = stood_for | {turn.id for turn in after.turns}
    assert here == {turn.id for turn in turns} - {victim.id}
    others = {one.id: one.text for one in before.summaries if victim.id not in one.turn_ids}
    assert others.items() <= {one.id: one.text for one in after.summaries}.items()
    memory.rebuild()
    assert memory.active("s").summaries == after.summaries


def test_model_proposals_with_words_of_an_erased_turn_are_erased(open_memory: OpenMemory, tmp_path: Path) -> None:
    def propose(text: str, *turns: int) -> str:
        item = {"text": text, "kind": "fact", "turns": list(turns), "basis": "stated", "supersedes": None}
        return json.dumps({"candidates": [item]})

    def proposals(memory: Memory) -> list[str]:
        out = io.BytesIO()
        memory.export(out)
        lines = out.getvalue().decode().splitlines()
        return [line for line in lines if '"entry":"propose"' in line]

    replies = [
        propose("My boat is called Zhiofruquae.", 1),
        propose("I painted my boat Zhiofruquae green last summer.", 1, 2),
        propose("I keep the paint in the shed.", 3),
    ]
    with ScriptedChat(replies) as server:
        settings = replace(QUICK, chat=ChatLimits(model=f"{server.url}#m", retry_s=0.01, attempts=1))
        memory = open_memory(settings=settings)
        named = memory.ingest("My boat is called Zhiofruquae.", session="s")
        memory.flush(20)
        memory.ingest("I painted my boat green last summer.", session="s")
        memory.flush(20)
        memory.ingest("I keep the paint in the shed.", session="s")
        memory.flush(20)
        assert ["Zhiofruquae" in line for line in proposals(memory)] == [True, True, False]
        memory.erase(turn=named.id)
        first, second = proposals(memory)
        assert "Zhiofruquae" not in first + second and "the paint in the shed" in second
        assert any("shed" in one.text for one in records(memory))
        memory.close()
    assert b"Zhiofruquae" not in bytes_of(tmp_path / "memory.db")


@pytest.mark.parametrize("given", ["nothing", "times", "keys"])
@pytest.mark.parametrize("gone", [0, 2, 4])
@pytest.mark.requirement("LOG-7")
def test_reingesting_a_history_restores_no_erased_turn(memory: Memory, given: str, gone: int) -> None:
    said = [
        one
        | ({"at": f"2026-05-04T10:00:0{at}Z"} if given == "times" else {})
        | ({"key": f"k{at}"} if given == "keys" else {})
        for at, one in enumerate(PARROT)
    ]
    turns = memory.ingest_many(said, session="pets")
    memory.erase(turn=turns[gone].id)
    kept = [turn for turn in turns if turn.index != gone]
    again = memory.ingest_many([*said, user("And one more thing.")], session="pets")
    assert [turn.id for turn in again[:-1] if turn.index != gone] == [turn.id for turn in kept]
    assert again[gone].id.startswith("e-") and again[gone].index == gone
    assert memory.thread("pets") == [*kept, again[-1]] and again[-1].index == 5
    with pytest.raises(NotFound, match="was erased"):
        memory.why(again[gone].id)
    assert memory.ingest_many([*said, user("And one more thing.")], session="pets")[-1].id == again[-1].id


def test_reingesting_an_erased_session_does_not_restore_its_name(memory: Memory, tmp_path: Path) -> None:
    turns = memory.ingest_many(PARROT, session="Grimwaldia")
    memory.erase(session="Grimwaldia")
    again = memory.ingest_many(PARROT, session="Grimwaldia")
    assert [turn.index for turn in again] == [turn.index for turn in turns] and memory.thread("Grimwaldia") == []
    memory.close()
    assert b"Grimwaldia" not in bytes_of(tmp_path / "memory.db")


def test_an_erased_turn_is_recognised_by_key_or_time_else_it_is_new(memory: Memory) -> None:
    keyed = memory.ingest("My boat is called Zhiofru.", session="s", key="m-1")
    timed = memory.ingest("My cat is called Qumwaia.", session="s", at="2026-05-04T10:00:00Z")
    plain = memory.ingest("ok", session="s")
    for turn in (keyed, timed, plain):
        memory.erase(turn=turn.id)
    assert memory.ingest("My boat is called Zhiofru.", session="s", key="m-1").id.startswith("e-")
    assert memory.ingest("My cat is called Qumwaia.", session="s", at="2026-05-04T10:00:00Z").id.startswith("e-")
    assert memory.thread("s") == []
    assert memory.ingest("ok", session="s").index == 3
    assert texts(memory.thread("s")) == ["ok"]


def test_an_old_export_does_not_restore_erased_lines(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    memory.ingest_many(talk(1), session="s")
    memory.remember("Kwezimbaru is the password hint")
    memory.flush()
    memory.export(tmp_path / "old.jsonl")
    before = memory.status()
    memory.erase(turn=memory.thread("s")[0].id)
    taken = memory.import_file(tmp_path / "old.jsonl")
    assert (taken.turns, taken.erased) == (0, 1) and memory.status().turns == before.turns - 1
    memory.erase(namespace=True)
    taken = memory.import_file(tmp_path / "old.jsonl")
    assert (taken.turns, taken.acts, taken.erased) == (0, 0, 13)
    memory.flush()
    assert memory.recent(10) == [] and records(memory) == []


def test_an_export_contains_tombstones_without_content(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    turns = memory.ingest_many(PARROT, session="pets")
    memory.flush()
    memory.erase(turn=turns[2].id)
    made = memory.export(tmp_path / "ana.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "ana.jsonl").read_text().splitlines()[1:-1]]
    told = [line for line in lines if line["entry"] == Entry.ERASE]
    assert [one["payload"]["what"] for one in told] == ["turn", "erase"] and told[0]["seq"] == 3
    assert "cartographer" not in json.dumps(lines)
    other = open_memory(file="other.db")
    taken = other.import_file(tmp_path / "ana.jsonl")
    assert (taken.turns, taken.acts) == (made.turns, made.acts)
    assert other.export(tmp_path / "again.jsonl").sha256 == made.sha256
    assert other.status().erased == 1


def test_an_erased_namespace_can_be_used_again(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=EAGER)
    memory.ingest_many(PARROT, session="pets")
    memory.flush()
    memory.erase(namespace=True)
    turn = memory.ingest("We start again from here.", session="pets")
    memory.flush()
    assert turn.index == 5 and texts(memory.thread("pets")) == ["We start again from here."]
    assert memory.search("start again")[0].id == turn.id
    other = open_memory("ben")
    other.ingest("ben is somebody else", session="pets")
    assert texts(memory.recent(10)) == ["We start again from here."]


@pytest.mark.parametrize("asked", [{}, {"session": "s", "turn": "t"}, {"session": "s", "namespace": True}])
def test_erase_needs_exactly_one_scope(memory: Memory, asked: dict[str, object]) -> None:
    with pytest.raises(InputError, match="exactly one of session"):
        memory.erase(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [{"session": "pet"}, {"turn": "t-"}, {"record": "r-"}, {"turn": "pets"}])
def test_erase_needs_an_exact_name(memory: Memory, asked: dict[str, str]) -> None:
    memory.ingest_many(PARROT, session="pets")
    memory.flush()
    before = answers(memory)
    with pytest.raises(NotFound):
        memory.erase(**asked)  # type: ignore[arg-type]
    assert answers(memory) == before


def test_a_turn_of_another_namespace_cannot_be_erased(open_memory: OpenMemory) -> None:
    turn = open_memory("ben").ingest("ben's own words", session="s")
    with pytest.raises(NotFound):
        open_memory("ana").erase(turn=turn.id)
    assert texts(open_memory("ben").thread("s")) == ["ben's own words"]


def test_an_erase_succeeds_while_the_embedder_is_down(open_memory: OpenMemory) -> None:
    embedder = FailingEmbedder(HashEmbedder())
    memory = open_memory(embedder=embedder)
    turns = memory.ingest_many(PARROT, session="pets")
    memory.flush()
    embedder.down = True
    memory.ingest("said while it was down", session="pets")
    made = memory.erase(turn=turns[0].id)
    assert made.pending is None and made.degraded is not None and "taken down" in made.degraded
    assert len(memory.thread("pets")) == 5
    embedder.down = False


def test_async_memory_can_erase(tmp_path: Path) -> None:
    async def live() -> None:
        async with AsyncMemory(tmp_path / "a.db", "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
            await memory.ingest("gone soon", session="s")
            assert (await memory.erase(session="s", prove=True)).turns == 1
            assert await memory.thread("s") == []

    anyio.run(live)
