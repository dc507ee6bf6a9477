"""`holdfast ingest`: keep conversations from files or stdin."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, open_memory
from holdfast.cli.progress import bar

if TYPE_CHECKING:
    from holdfast.cli.transcripts import Transcript, Way
    from holdfast.memory import Memory

__all__ = ["ingest", "keep", "wait_for_meaning"]

_BAD_SHOWN = 5


def ingest(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help='Files of messages; "-" reads stdin.', show_default=False)
    ],
    session: Annotated[
        str | None,
        typer.Option(
            "--session", "-s", metavar="NAME", help="Of messages that name none. Else: the file's name.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="auto|jsonl|json|text", help="How to read them.")] = "auto",
    role: Annotated[str, typer.Option(help="Who speaks in a plain text.")] = "user",
    lines: Annotated[bool, typer.Option("--lines", help="Each line of a plain text is a turn.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad messages out, and say which.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until all of it is found by meaning.")] = True,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Keep conversations; run it again and only what is new is added.

    JSON lines ({"role", "content", "at"?, "key"?, "session"?}), a JSON array, or plain text.

    [dim]holdfast ingest chat.jsonl · git log | holdfast ingest - --session history[/dim]
    """
    from holdfast.answers import IngestAnswer
    from holdfast.cli.transcripts import Format, Way

    if format not in set(Format):
        raise typer.BadParameter(f"{format!r} is none of {', '.join(Format)}", param_hint="--format")
    start = time.perf_counter()
    way = Way(Format(format), session, role, lines, skip_bad)
    with ExitStack() as sources:
        transcripts = _read(files, way, sources)
        with open_memory(store, namespace, embedder) as memory:
            added, known = keep(memory, transcripts)
            degraded = wait_for_meaning(memory) if wait else None
    bad = [reason for transcript in transcripts for reason in transcript.bad]
    for reason in bad[:_BAD_SHOWN]:
        typer.echo(f"holdfast: left out {reason}", err=True)
    if len(bad) > _BAD_SHOWN:
        typer.echo(f"holdfast: left out {len(bad) - _BAD_SHOWN} more", err=True)
    answer = IngestAnswer(
        added=added,
        known=known,
        heartbeats=sum(transcript.heartbeats for transcript in transcripts),
        skipped=len(bad),
        sessions=len({name for transcript in transcripts for name in transcript.places}),
        seconds=round(time.perf_counter() - start, 3),
        degraded=degraded,
    )
    if as_json:
        print_json(answer)
    else:
        from holdfast.cli.show import show_ingest

        show_ingest(answer)


def _read(files: Sequence[str], way: Way, sources: ExitStack) -> list[Transcript]:
    """Check every source before anything is written."""
    from holdfast.cli.transcripts import open_source, read_transcript
    from holdfast.moments import utc_now
    from holdfast.settings import load_settings

    settings, now = load_settings().log, utc_now()
    transcripts = []
    for name in files:
        source = sources.enter_context(open_source(name))
        size = source.seek(0, 2)
        source.seek(0)
        with bar(f"checking {name}") as progress:
            transcripts.append(
                read_transcript(source, name, way, settings, now, lambda place: progress(place, size))  # noqa: B023
            )
    return transcripts


def keep(memory: Memory, transcripts: Sequence[Transcript]) -> tuple[int, int]:
    """Hand the messages over, session by session: how many turns are new, and how many were known."""
    before = memory.status().log_end
    new: set[int] = set()
    done, total = 0, sum(transcript.count for transcript in transcripts)
    with bar("keeping") as progress:
        for transcript in transcripts:
            for session in transcript.places:
                turns = memory.ingest_many(
                    transcript.messages(session),
                    session=session,
                    progress=lambda part, _: progress(done + part, total),  # noqa: B023
                )
                new.update(turn.seq for turn in turns if turn.seq > before)
                done += len(turns)
    return len(new), done - len(new)


def wait_for_meaning(memory: Memory) -> str | None:
    """Wait for derived work; a model that is down costs meaning, not the turns, so it is told and not raised."""
    from holdfast.errors import ModelError

    try:
        with bar("embedding") as progress:
            memory.flush(progress=progress)
    except ModelError as error:
        return str(error)
    return None
