"""`holdfast demo`: a sample month goes in, questions are asked, and what search really finds is printed."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, open_memory

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.answers import Asked, IngestAnswer
    from holdfast.demo import Question
    from holdfast.memory import Memory

__all__ = ["demo"]

_SHOWN = 2
_NEWEST = 2


def demo(
    # Not HOLDFAST_STORE, not HOLDFAST_NAMESPACE: the sample must never end up in a memory that somebody uses.
    store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="PATH", help="Keep the sample here. Else it is thrown away.", show_default=False
        ),
    ] = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remember a sample month and answer questions from it, in a throw-away store.

    [dim]holdfast demo --store demo.db[/dim]
    """
    from holdfast.answers import DemoAnswer
    from holdfast.demo import NAMESPACE, questions

    shown = [question for question in questions() if question.show]
    with _place(store) as place, open_memory(place, NAMESPACE, embedder) as memory:
        ingest, key_of = _remember_month(memory)
        asked = tuple(_ask(memory, question, key_of) for question in shown)
        if as_json:
            print_json(DemoAnswer(place, NAMESPACE, ingest, asked))
            return
        from holdfast.cli.show import console

        out = console()
        _tell(out, memory, ingest, asked, {question.question: question.note for question in shown})
        rest = [_ask(memory, question, key_of) for question in questions() if not question.show]
        found = sum(one.found_at is not None for one in rest)
        # A score on questions picked for their answers says nothing of the others, so theirs is told too.
        out.print(
            f"These {len(asked)} were picked because search finds them; of the other {len(rest)} sample questions it "
            f"finds {found}."
        )
        _what_next(out, store, NAMESPACE)


@contextmanager
def _place(store: str | None) -> Iterator[str]:
    if store is not None:
        yield store
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        yield str(Path(folder) / "demo.db")


def _remember_month(memory: Memory) -> tuple[IngestAnswer, dict[str, str | None]]:
    """Ingest the sample; also which turn carries which key, to tell whether an answer was found."""
    from holdfast.answers import IngestAnswer
    from holdfast.cli.ingest import keep, wait_for_meaning
    from holdfast.cli.transcripts import Way, read_transcript
    from holdfast.demo import month
    from holdfast.moments import utc_now
    from holdfast.settings import load_settings

    start = time.perf_counter()
    with month().open("rb") as source:
        transcript = read_transcript(source, "month.jsonl", Way(), load_settings().log, utc_now(), lambda place: None)
        added, known = keep(memory, [transcript])
    degraded = wait_for_meaning(memory)
    seconds = round(time.perf_counter() - start, 3)
    key_of = {turn.id: turn.key for session in transcript.places for turn in memory.thread(session)}
    return IngestAnswer(added, known, transcript.heartbeats, 0, len(transcript.places), seconds, degraded), key_of


def _ask(memory: Memory, question: Question, key_of: dict[str, str | None]) -> Asked:
    from holdfast.answers import Asked

    hits = memory.search(question.question, limit=_SHOWN)
    ranks = (rank for rank, hit in enumerate(hits, 1) if key_of.get(hit.id) in question.keys)
    return Asked(question.question, question.answer, next(ranks, None), tuple(hits), hits.receipt.ms)


def _tell(out: Console, memory: Memory, ingest: IngestAnswer, asked: tuple[Asked, ...], notes: dict[str, str]) -> None:
    from holdfast.cli import show

    out.print("One person's month with an assistant: work, a move, a family, four languages.\n")
    show.show_ingest(ingest)
    for one in asked:
        out.print(f"\n{one.question}", style="bold yellow")
        out.print(notes[one.question], style="dim")
        for rank, hit in enumerate(one.hits, 1):
            show.print_hit(out, rank, hit, with_id=False)
        _verdict(out, one)
    out.print("\nWhat did we talk about last?", style="bold yellow")
    out.print(f"recent(limit={_NEWEST}, kind='exchange'): by time, not by likeness", style="dim")
    show.show_recent(memory.recent(limit=_NEWEST, kind="exchange"), full=False)
    best = next((one for one in asked if one.found_at == 1), None)
    if best is not None:
        out.print(f"How does it know the answer to “{best.question}”", style="bold yellow")
        out.print("why(id): what was decided about that turn", style="dim")
        show.show_why(memory.why(best.hits[0].id))
    found = sum(one.found_at is not None for one in asked)
    times = sorted(one.ms for one in asked)
    median = times[len(times) // 2] if times else 0.0
    out.print(f"\n{found} of {len(asked)} answers among the first {_SHOWN} hits; median search {median:.1f} ms.")


def _verdict(out: Console, one: Asked) -> None:
    from rich.text import Text

    from holdfast.cli.show import print_indented

    if one.found_at is None:
        print_indented(out, Text(f"not among the first {_SHOWN}: {one.answer}", style="red"), first="  ✗ ")
    else:
        print_indented(out, Text(f"hit {one.found_at}: {one.answer}", style="green"), first="  ✓ ")


def _what_next(out: Console, store: str | None, namespace: str) -> None:
    kept = shlex.quote(store or "demo.db")
    out.print("\nTry next", style="bold")
    if store is None:
        out.print(f"  holdfast demo --store {kept}          keep the sample, then ask it yourself:")
    for line in (
        f'holdfast search "how do I create a new migration?" --store {kept} -n {namespace} --explain',
        f"holdfast thread 2026-09-15-a --store {kept} -n {namespace}",
        f"holdfast recent --since 2026-09-28 --store {kept} -n {namespace}",
        "holdfast ingest your-chat.jsonl --store memory.db -n you",
    ):
        out.print(f"  {line}", soft_wrap=True)
