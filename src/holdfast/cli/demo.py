"""`holdfast demo`: a sample month goes in; what was made of it, what changed and what search finds are printed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, open_memory

if TYPE_CHECKING:
    from holdfast.answers import Asked, IngestAnswer
    from holdfast.demo import Question
    from holdfast.insight import History
    from holdfast.memory import Memory
    from holdfast.model import Record

__all__ = ["demo"]

_SHOWN = 2
_MOST = 1000  # more records than a month makes


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
    from holdfast.demo import FIRST_SESSION, NAMESPACE, questions

    shown = [question for question in questions() if question.show]
    with _place(store) as place, open_memory(place, NAMESPACE, embedder) as memory:
        ingest, key_of = _remember_month(memory)
        asked = tuple(_ask(memory, question, key_of) for question in shown)
        kept = tuple(_records(memory, FIRST_SESSION))
        answer = DemoAnswer(place, NAMESPACE, ingest, kept, _longest(memory), memory.stats(), asked)
        if as_json:
            print_json(answer)
            return
        from holdfast.cli.show_demo import tell, what_next

        rest = tuple(_ask(memory, question, key_of) for question in questions() if not question.show)
        tell(memory, answer, {question.question: question.note for question in shown}, rest, _SHOWN)
        what_next(store, NAMESPACE)


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
    ranks = (
        rank
        for rank, hit in enumerate(hits, 1)
        if any(key_of.get(turn_id) in question.keys for turn_id in hit.turn_ids)
    )
    return Asked(question.question, question.answer, next(ranks, None), tuple(hits), hits.receipt.ms)


def _records(memory: Memory, session: str | None = None) -> list[Record]:
    """Live ones, oldest first."""
    from holdfast.model import Record

    made = memory.recent(_MOST, kind="record", session=session)
    return [one for one in reversed(made) if isinstance(one, Record)]


def _longest(memory: Memory) -> History:
    """The matter that changed most often."""
    found = [memory.history(record.id) for record in _records(memory)]
    return max(found, key=lambda history: len(history.versions))
