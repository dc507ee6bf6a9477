"""`holdfast bench NAME`: the measurements of holdfast.evaluate, as a table and as a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from holdfast.errors import InputError
from holdfast_bench.render import show_retrieval

# --- What every bench needs: its files, its progress, its report.


Step = Callable[[str, int, int], None]
"""Called with (step, done, total)."""
Show = Callable[[Mapping[str, object]], None]
"""Prints the figures of a bench."""

DataOption = Annotated[
    list[Path],
    typer.Option("--data", metavar="FILE", help="The set's file; may be given more than once.", show_default=False),
]
OutOption = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the figures to this file.", show_default=False)
]


def check_files(data: Sequence[Path]) -> None:
    for path in data:
        if not path.is_file():
            raise InputError(f"there is no file {path}")


def check_folder(out: Path | None) -> None:
    """A mistyped folder should not cost the minutes of a run."""
    if out is not None and not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} to")


@contextmanager
def steps() -> Iterator[Step]:
    """One bar whose label is the step at hand; nothing when stderr is no terminal."""
    import sys

    if not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda step, done, total: bars.update(task, description=step, completed=done, total=total)


def report(figures: Mapping[str, object], out: Path | None, show: Show | None = None) -> None:
    """Show the figures, as a bench's own table where it has one, and write all of them."""
    from holdfast.cli.render import show_figures

    (show or show_figures)(figures)
    if out is not None:
        out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        typer.echo(f"written to {out}")


# --- `holdfast bench gate | halumem | facts | merge | compact`: what is kept, replaced, made one and shortened.


_TO_LOOK_AT = ("examples", "merges", "layouts")
"""Lists of texts: in the file, not among the figures on the screen."""


def add_commands(app: typer.Typer) -> None:
    app.command()(gate)
    app.command()(halumem)
    app.command()(facts)
    app.command()(merge)
    app.command()(compact)


def gate(data: DataOption, out: OutOption = None) -> None:
    """How well the gate tells what lasts (LoCoMo), and how much small talk becomes a record (DailyDialog).

    [dim]holdfast bench gate --data locomo.json --data dailydialog.txt --json gate.json[/dim]
    """
    from holdfast_bench import gate as bench

    _measure(data, out, lambda progress: bench.run(data, progress))


def halumem(data: DataOption, out: OutOption = None) -> None:
    """HaluMem: what people tell is kept, what an assistant invents is not, what changed makes way.

    [dim]holdfast bench halumem --data halumem_user0.json --json halumem.json[/dim]
    """
    from holdfast_bench import halumem as bench

    _measure(data, out, lambda progress: bench.run(data, progress))


def facts(data: DataOption, out: OutOption = None) -> None:
    """FactConsolidation: is the newest of facts that override each other found first, beside BM25 and plain vectors?

    [dim]holdfast bench facts --data fact_consolidation.json --json facts.json[/dim]
    """
    from holdfast_bench import facts as bench
    from holdfast_bench.render import show_facts

    _measure(data, out, lambda progress: bench.run(data, progress), show_facts)


def merge(
    data: DataOption,
    profile: Annotated[
        str, typer.Option("--profile", metavar="PROFILE", help="static, onnx, or any embedder profile.")
    ] = "static",
    out: OutOption = None,
) -> None:
    """Which pairs of sentences are made one (STS-B, MRPC, SICK), and what the sample month adds when told again.

    [dim]holdfast bench merge --data stsb.csv --data SICK.txt --profile onnx --json merge.json[/dim]
    """
    from holdfast_bench import merge as bench

    _measure(data, out, lambda progress: bench.run(data, progress, profile))


def compact(
    data: DataOption,
    turns: Annotated[
        int, typer.Option("--turns", min=0, metavar="N", help="Length of the session that is timed; 0: none.")
    ] = 10_000,
    out: OutOption = None,
) -> None:
    """What compaction costs and keeps: recall before and after, tokens, planted rules, the detector (LoCoMo, BEAM, …).

    [dim]holdfast bench compact --data locomo.json --data lexdemod.csv --data dailydialog.txt --json compact.json[/dim]
    """
    from holdfast_bench import compact as bench

    _measure(data, out, lambda progress: bench.run(data, progress, turns))


def _measure(
    data: list[Path], out: Path | None, run: Callable[[Step], dict[str, object]], show: Show | None = None
) -> None:
    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = run(progress)
    report(figures, out, show or _show)


def _show(figures: Mapping[str, object]) -> None:
    from holdfast.cli.render import show_figures

    show_figures({name: value for name, value in figures.items() if name not in _TO_LOOK_AT and value is not None})


# --- `holdfast bench locomo | longmemeval | beam`: how well search finds the turns that answer a question.


ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="PROFILE", help="static, onnx (bge-small) or any embedder profile.", show_default=False
    ),
]
RecordsOption = Annotated[
    bool | None,
    typer.Option("--records/--no-records", help="Make records of the turns too (or not).", show_default=False),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help="Ask so many questions only: a quick look.", show_default=False),
]


def bench_recall_add_commands(app: typer.Typer) -> None:
    app.command()(locomo)
    app.command()(longmemeval)
    app.command()(beam)
    app.command()(pack)


def locomo(
    data: DataOption,
    profile: ProfileOption = None,
    records: RecordsOption = None,
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """LoCoMo: which turns and sessions of a long conversation answer a question, beside BM25 and plain vectors.

    [dim]holdfast bench locomo --data locomo.json --json figures.json[/dim]
    """
    from holdfast_bench import locomo as bench
    from holdfast_bench.ask import Ways

    _bench_recall_measure(data, out, lambda progress: bench.run(data, Ways(profile, records, limit), progress))


def longmemeval(
    data: DataOption,
    mode: Annotated[str, typer.Option("--mode", metavar="MODE", help="pool, global or lite.")] = "pool",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which other sessions a pool holds.")] = 0,
    profile: ProfileOption = None,
    records: RecordsOption = None,
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """LongMemEval: the same on dated chats with an assistant, many sessions at once.

    [dim]holdfast bench longmemeval --data oracle.json --mode pool --json figures.json[/dim]
    """
    from holdfast_bench import longmemeval as bench
    from holdfast_bench.ask import Ways

    ways = Ways(profile, records, limit)
    chosen = bench.read_mode(mode)
    _bench_recall_measure(data, out, lambda progress: bench.run(data, ways, chosen, seed, progress))


def beam(
    data: DataOption,
    profile: ProfileOption = None,
    records: RecordsOption = None,
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """BEAM: the same on chats with an assistant, by the ability a question probes.

    [dim]holdfast bench beam --data beam_100k.json --json figures.json[/dim]
    """
    from holdfast_bench import beam as bench
    from holdfast_bench.ask import Ways

    _bench_recall_measure(data, out, lambda progress: bench.run(data, Ways(profile, records, limit), progress))


def pack(
    data: DataOption,
    profile: ProfileOption = None,
    records: RecordsOption = None,
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """How much of the evidence is inside a context of 1,000, 2,000 and 4,000 tokens, beside the first hits.

    [dim]holdfast bench pack --data locomo.json --data oracle.json --limit 100 --json pack.json[/dim]
    """
    from holdfast_bench import pack as bench
    from holdfast_bench.ask import Ways

    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = bench.run(data, Ways(profile, records, limit), progress)
    report(figures, out)


def _bench_recall_measure(data: list[Path], out: Path | None, run: Callable[[Step], dict[str, object]]) -> None:
    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = run(progress)
    report(figures, out, show_retrieval)


app = typer.Typer(no_args_is_help=True, help="Measure quality, speed and safety on this machine, with files of yours.")


@app.callback()
def _bench() -> None:
    """Measure quality, speed and safety on this machine, with files of yours."""


@app.command()
def speed(
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 100_000,
    out: OutOption = None,
) -> None:
    """How long ingest and search take, each beside the floor it is measured against.

    [dim]holdfast bench speed --records 10000 --json speed.json[/dim]
    """
    from holdfast_bench import speed as bench

    check_folder(out)
    with steps() as progress:
        figures = bench.run(records=records, progress=progress)
    report(figures, out)


@app.command("engines")
def compare_engines(
    store: Annotated[
        str, typer.Option("--store", metavar="URL", help="A PostgreSQL server: postgresql://…", show_default=False)
    ],
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns of the largest.")] = 10_000,
    admit: Annotated[bool, typer.Option("--admit/--no-admit", help="Make records of the turns too.")] = True,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="Compare what both find in LoCoMo instead.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Of its questions so many only.")
    ] = None,
    out: OutOption = None,
) -> None:
    """SQLite and PostgreSQL side by side: how fast they write and answer, and whether they answer the same.

    [dim]holdfast bench engines --store postgresql://holdfast@localhost/memory --json engines.json[/dim]
    """
    from holdfast_bench import agreement, engines
    from holdfast_bench.ask import Ways

    check_folder(out)
    check_files(data or [])
    with steps() as progress:
        if data:
            figures = agreement.run(store, data, Ways(records=admit, limit=limit), progress)
        else:
            figures = engines.run(store, records, admit, progress)
    report(figures, out)


@app.command()
def serve(
    seconds: Annotated[float, typer.Option("--seconds", min=1, metavar="S", help="How long each load lasts.")] = 60.0,
    clients: Annotated[int, typer.Option("--clients", min=1, metavar="N", help="Clients at once.")] = 50,
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 10_000,
    pace: Annotated[
        float, typer.Option("--pace", min=0.01, metavar="S", help="A client ingests and searches once in so long.")
    ] = 1.0,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="Of the server under load; one for each core.")
    ] = 1,
    out: OutOption = None,
) -> None:
    """How a server stands many clients at once, and what RPC and HTTP cost beside a plain call.

    [dim]holdfast bench serve --seconds 60 --json serve.json[/dim]
    """
    from holdfast_bench import serve as bench

    check_folder(out)
    with steps() as progress:
        figures = bench.run(seconds, clients, records, pace, processes, progress)
    report(figures, out)


@app.command()
def hostile(
    data: DataOption,
    out: OutOption = None,
) -> None:
    """What hostile texts do to the store: nothing may be lost, crossed or obeyed.

    [dim]holdfast bench hostile --data texts.json --json hostile.json[/dim]
    """
    from holdfast_bench import hostile as bench

    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = bench.run(data, progress)
    report(figures, out)


bench_recall_add_commands(app)
add_commands(app)
