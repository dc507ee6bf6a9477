"""`holdfast demo`: ingest a sample month, then print its records, what changed, and answers to questions."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.text import Text

from holdfast.cli import render
from holdfast.cli.command import MemoryTarget, command, option, print_json
from holdfast.cli.render_insight import show_history, show_stats
from holdfast.model import Kind

if TYPE_CHECKING:
    from holdfast.demo import SampleQuestion
    from holdfast.memory import Memory
    from holdfast.model import Hit, Record
    from holdfast.results import History, IngestAnswer, Stats


@dataclass(frozen=True)
class DemoQuestion:
    """One question of the demo with the hits of search."""

    question: str
    answer: str
    """The answer in the sample month, in our words."""
    found_at: int | None
    """Rank of the first hit shown that contains the answer."""
    hits: tuple[Hit, ...]
    ms: float


@dataclass(frozen=True)
class DemoAnswer:
    store: str
    namespace: str
    ingest: IngestAnswer
    kept: tuple[Record, ...]
    """Records of the first conversation, in order of time."""
    changed: History
    """The longest chain of records that replaced each other."""
    stats: Stats
    asked: tuple[DemoQuestion, ...]


_SHOWN = 2
_MOST = 1000  # more records than a month makes


@command(without=("namespace",))
def demo(
    target: MemoryTarget,
    # Neither HOLDFAST_STORE nor HOLDFAST_NAMESPACE: the sample must never end up in a memory that is in use.
    store: Annotated[str | None, option("Keep the sample in this store (default: discard it).", metavar="PATH")] = None,
    as_json: bool = False,
) -> None:
    """Ingest a sample month of conversations and answer questions from it, in a temporary store.

    [dim]holdfast demo --store demo.db[/dim]
    """
    from holdfast.demo import FIRST_SESSION, NAMESPACE, questions

    shown = [question for question in questions() if question.show]
    with _place(store) as place, MemoryTarget(place, NAMESPACE, target.embedder).open() as memory:
        ingest, key_of = _ingest_month(memory)
        asked = tuple(_ask(memory, question, key_of) for question in shown)
        kept = tuple(_records(memory, FIRST_SESSION))
        location = memory.status().store  # of a server: without the password
        answer = DemoAnswer(location, NAMESPACE, ingest, kept, _longest_history(memory), memory.stats(), asked)
        if as_json:
            print_json(answer)
            return
        rest = tuple(_ask(memory, question, key_of) for question in questions() if not question.show)
        _show(memory, answer, {question.question: question.note for question in shown}, rest)
        show_next_steps(None if store is None else location, NAMESPACE)


@contextmanager
def _place(store: str | None) -> Iterator[str]:
    if store is not None:
        yield store
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        yield str(Path(folder) / "demo.db")


def _ingest_month(memory: Memory) -> tuple[IngestAnswer, dict[str, str | None]]:
    """Ingest the sample and return the key of each turn, by which answers are recognised."""
    from holdfast.cli.ingest import ReadOptions, read_transcript, store_messages, wait_until_embedded
    from holdfast.demo import month
    from holdfast.model import utc_now
    from holdfast.results import IngestAnswer
    from holdfast.settings import load_settings

    start = time.perf_counter()
    with month().open("rb") as source:
        transcript = read_transcript(
            source, "month.jsonl", ReadOptions(), load_settings().log, utc_now(), lambda place: None
        )
        added, known = store_messages(memory, [transcript])
    degraded = wait_until_embedded(memory)
    seconds = round(time.perf_counter() - start, 3)
    key_of = {turn.id: turn.key for session in transcript.places for turn in memory.thread(session)}
    return IngestAnswer(added, known, transcript.heartbeats, 0, len(transcript.places), seconds, degraded), key_of


def _ask(memory: Memory, question: SampleQuestion, key_of: dict[str, str | None]) -> DemoQuestion:

    hits = memory.search(question.question, limit=_SHOWN)
    ranks = (
        rank
        for rank, hit in enumerate(hits, 1)
        if any(key_of.get(turn_id) in question.keys for turn_id in hit.turn_ids)
    )
    return DemoQuestion(question.question, question.answer, next(ranks, None), tuple(hits), hits.receipt.ms)


def _records(memory: Memory, session: str | None = None) -> list[Record]:
    """Return the live records, oldest first."""
    from holdfast.model import Record

    made = memory.recent(_MOST, kind="record", session=session)
    return [one for one in reversed(made) if isinstance(one, Record)]


def _longest_history(memory: Memory) -> History:
    """Return the history of the record that changed most often."""
    found = [memory.history(record.id) for record in _records(memory)]
    return max(found, key=lambda history: len(history.versions))


# --- printing

_FACTS = 4
_NEWEST = 2


def _show(memory: Memory, demo: DemoAnswer, notes: Mapping[str, str], rest: tuple[DemoQuestion, ...]) -> None:
    out = render.console()
    out.print("One person's month with an assistant: work, a move, a family, four languages.\n")
    render.show_ingest(demo.ingest)
    _show_records(out, demo)
    for one in demo.asked:
        _head(out, one.question, notes[one.question])
        for rank, hit in enumerate(one.hits, 1):
            render.print_hit(out, rank, hit, with_id=False)
        _show_verdict(out, one)
    _head(out, "What did we talk about last?", f"recent(limit={_NEWEST}, kind='exchange'): by time, not by similarity")
    render.print_items(memory.recent(limit=_NEWEST, kind="exchange"))
    best = next((one for one in demo.asked if one.found_at == 1 and one.hits[0].kind is not Kind.TURN), None)
    if best is not None:
        _head(out, f"How does it know the answer to “{best.question}”", "why(id): what was decided about its turn")
        render.show_why(memory.why(best.hits[0].turn_ids[0]))
    _show_score(out, demo.asked, rest)


def _show_records(out: Console, demo: DemoAnswer) -> None:
    turns, made = demo.stats.total.turns, demo.stats.total.added + demo.stats.total.superseded
    _head(out, "What was made of it?", "recent(kind='record'): what she said about herself, in her own words")
    render.print_items(demo.kept[:_FACTS])
    out.print(f"… {made:,} records from {turns:,} turns; everything else is still found as a turn.")
    _head(out, "What changed?", "history(id): replaced records are retired with a reason, never deleted")
    show_history(demo.changed)
    _head(out, "What did the gates do?", "stats(): counted per day; here for the whole month")
    show_stats(demo.stats, by_day=False)


def _head(out: Console, title: str, note: str) -> None:
    out.print(f"\n{title}", style="bold yellow")
    out.print(note, style="dim")


def _show_verdict(out: Console, one: DemoQuestion) -> None:
    if one.found_at is None:
        render.print_indented(out, Text(f"not among the first {_SHOWN}: {one.answer}", style="red"), first="  ✗ ")
    else:
        render.print_indented(out, Text(f"hit {one.found_at}: {one.answer}", style="green"), first="  ✓ ")


def _show_score(out: Console, asked: tuple[DemoQuestion, ...], rest: tuple[DemoQuestion, ...]) -> None:
    """Also print the score of the questions that were not picked because search finds their answers."""
    found = sum(one.found_at is not None for one in asked)
    times = sorted(one.ms for one in asked)
    median = times[len(times) // 2] if times else 0.0
    out.print(f"\n{found} of {len(asked)} answers among the first {_SHOWN} hits; median search {median:.1f} ms.")
    others = sum(one.found_at is not None for one in rest)
    out.print(
        f"The demo's {len(asked)} questions are ones search gets right; it gets {others} of the other {len(rest)}."
    )


def show_next_steps(store: str | None, namespace: str) -> None:
    out = render.console()
    kept = shlex.quote(store or "demo.db")
    out.print("\nTry next", style="bold")
    activate = Path(sys.executable).with_name("activate")
    if shutil.which("holdfast") is None and activate.exists():  # `make demo` runs in an environment that nobody entered
        out.print(f"  . {shlex.quote(_relative(activate))}          puts holdfast on your path", soft_wrap=True)
    if store is None:
        out.print(f"  holdfast demo --store {kept}          keep the sample, then ask it yourself:")
    for line in (
        f'holdfast search "how do I create a new migration?" --store {kept} -n {namespace} --explain',
        f"holdfast stats --store {kept} -n {namespace}",
        f"holdfast thread 2026-09-15-a --store {kept} -n {namespace}",
        f"holdfast recent --since 2026-09-28 --store {kept} -n {namespace}",
        "holdfast ingest your-chat.jsonl --store memory.db -n you",
    ):
        out.print(f"  {line}", soft_wrap=True)


def _relative(path: Path) -> str:
    """Return the path relative to the current directory if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
