"""Every verb of a memory, used once, so that every path through the engine is taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.compact.prepare import CompactSizes
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.settings import JanitorSettings, Settings
from holdfast.testing import FixedClock, HashEmbedder
from tests.support.chats import boatyard
from tests.support.memories import QUICK, OtherEmbedder, assistant, user

__all__ = ["FULL", "live", "look", "tell"]

NOW = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)
FULL = replace(
    QUICK,
    _tuning=(IndexSizes(tail=1, vector_tail=1, batch=16),),
    compact=CompactSizes(automatic=False, step=30),
    janitor=JanitorSettings(),
)


def live(place: str | Path, namespace: str, word: str, folder: Path, settings: Settings = FULL) -> None:
    """Ingest, search, tidy, compact, move and erase in a namespace; everything in it contains `word`."""
    clock = FixedClock(NOW)
    with Memory(place, namespace, embedder=HashEmbedder(), settings=settings, clock=clock) as memory:
        tell(memory, word)
        _tidy(memory, clock, word)
        look(memory, word)
        _move(memory, place, namespace, folder)
        _erase(memory, word)
        look(memory, word)
        memory.doctor(fix=True)
        memory.rebuild()
    with Memory(place, namespace, embedder=OtherEmbedder(), settings=settings, clock=clock) as memory:
        memory.flush()
        look(memory, word)


def tell(memory: Memory, word: str) -> None:
    memory.bootstrap("empty")
    memory.ingest(f"The API of our {word} runs on port 8080.", at=NOW - timedelta(days=400), session="old")
    memory.ingest(f"{word} has a key", key=f"{word}-1", metadata={"speaker": "Ada", "note": "a\x00b"})
    memory.ingest(f"{word} has a key", key=f"{word}-1")
    memory.ingest(f"{word} \x00 and \ue000 are kept as they are")
    talk = [user(f"I live in {word} with my sister Anna."), assistant("Noted."), user(f"The {word} opens at nine.")]
    memory.ingest_many(talk, session="talk")
    memory.ingest_many([*talk, user(f"I moved from {word} to Lisbon in May.")], session="talk")
    memory.ingest(f"{word} is long. " + "It goes on and on about the harbour and the ferry. " * 120, session="long")
    memory.ingest_many(
        [replaced | {"content": f"{replaced['content']} {word}"} for replaced in boatyard(64, rules=3)], session="yard"
    )
    memory.flush()
    memory.compact("yard", force=True)
    memory.remember(f"{word} deploys on Fridays", kind="decision")
    memory.forget(memory.ingest(f"{word} is forgotten", session="talk").id)
    noun = memory.remember(f"{word} was remembered and forgotten").id
    memory.forget(noun)
    memory.forget(noun, undo=True)
    memory.flush()


def look(memory: Memory, word: str) -> None:
    for kind in (None, "turn", "fact", "summary", "guidance"):
        hits = memory.search(f"where does {word} live since yesterday", limit=20, kind=kind)
        for hit in hits[:2]:
            memory.why(hit.id)
            memory.history(hit.id) if hit.kind.value != "turn" else memory.expand(hit.id)
    memory.search(word, session="talk", since="2026-01-01", until="2027-01-01")
    for kind in ("turn", "exchange", "record"):
        memory.recent(20, kind=kind)
        memory.recent(20, kind=kind, since="2020-01-01", until="2030-01-01")
    for session in ("talk", "yard", "long"):
        memory.thread(session)
    memory.themes()
    memory.context([{"role": "user", "content": f"what of {word}?"}], session="talk")
    memory.active("yard")
    memory.gating_scalar(f"{word} is new")
    memory.stats()
    memory.status()
    memory.tune_similarity()
    memory.calibrate()
    assert memory.check() == []
    with memory.view as view:
        spans = view.sessions(2)
        view.sessions(2, spans[-1].name if spans else None)
        page = list(view.recent_turns(3))
        list(view.recent_turns(3, until=NOW, before=page[-1].id if page else None))
        view.replaced([turn.seq for turn in page])
        told = view.recent_records(3)
        view.recent_records(3, before=told[-1].id if told else None, live=False)
    memory.flush()


def _tidy(memory: Memory, clock: FixedClock, word: str) -> None:
    run = memory.janitor(cull=True).run
    memory.janitor(undo=run)
    clock.advance(8 * 86400)
    memory.janitor()
    memory.ingest(f"The API of our {word} runs on port 8080.", session="again")
    memory.calibrate([(0.1 * number, number > 4) for number in range(10)])
    memory.flush()


def _move(memory: Memory, place: str | Path, namespace: str, folder: Path) -> None:
    file = folder / f"{namespace}.jsonl"
    memory.export(file)
    memory.import_file(file)
    with Memory(place, f"{namespace} again", embedder=HashEmbedder(), settings=QUICK) as other:
        other.import_file(file)
        other.flush()
        other.search("where is the harbour?")  # without segments: other statements
        other.erase(namespace=True, prove=True)


def _erase(memory: Memory, word: str) -> None:
    turn = memory.ingest(f"{word} has a secret", session="talk", key="secret")
    record = memory.remember(f"{word} has a secret record")
    memory.flush()
    memory.erase(turn=turn.id)
    memory.erase(record=record.id)
    memory.erase(session="old", prove=True)
    memory.ingest(f"{word} has a secret", session="talk", key="secret")
    memory.ingest(f"{word} goes on", session="talk")
    memory.flush()
