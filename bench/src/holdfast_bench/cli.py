"""`holdfast bench NAME`: benchmarks of quality, speed and safety, as a table and as a JSON file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.errors import InputError
from holdfast.models.ask import MODELS_VARIABLE

if TYPE_CHECKING:
    from holdfast_bench.life_figures import LivesFigures

Step = Callable[[str, int, int], None]
"""Called with (step, done, total)."""

DataOption = Annotated[
    list[Path],
    typer.Option("--data", metavar="FILE", help="File of the data set; can be repeated.", show_default=False),
]
OutOption = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the figures to this file.", show_default=False)
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="PROFILE", help="static, onnx (bge-small) or any embedder profile.", show_default=False
    ),
]
RecordsOption = Annotated[
    bool | None,
    typer.Option("--records/--no-records", help="Also make records of the turns.", show_default=False),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help="Number of questions, for a quick look.", show_default=False),
]

ModelsOption = Annotated[
    str | None,
    typer.Option(
        "--models",
        metavar="FOLDER",
        help="Folder with the weights of the ask models, or none (default: those installed).",
        show_default=False,
    ),
]
RerankOption = Annotated[bool, typer.Option("--rerank", help="Rerank the first 20 hits with the cross-encoder.")]

_TEXT_LISTS = ("examples", "merges", "layouts", "sentences", "outcomes")
"""Lists of texts, which are written to the file but not shown on the screen."""

app = typer.Typer(no_args_is_help=True, help="Measure quality, speed and safety on this machine, with your own files.")


def _add_data_command(name: str, text: str, show: str | None = None) -> None:
    """Add a benchmark whose only options are its data files and the output."""

    def command(data: DataOption, out: OutOption = None) -> None:
        bench = import_module(f"holdfast_bench.{name}")
        _measure(data, out, lambda progress: bench.run(data, progress), show)

    app.command(name, help=text)(command)


def _add_retrieval_command(name: str, text: str, show: str | None = "show_retrieval") -> None:
    """Add a benchmark that asks questions about conversations."""

    def command(
        data: DataOption,
        profile: ProfileOption = None,
        records: RecordsOption = None,
        limit: LimitOption = None,
        models: ModelsOption = None,
        rerank: RerankOption = False,
        out: OutOption = None,
    ) -> None:
        from holdfast_bench.ask import AskOptions

        _use_models(models)
        bench = import_module(f"holdfast_bench.{name}")
        options = AskOptions(profile, records, limit, rerank)
        _measure(data, out, lambda progress: bench.run(data, options, progress), show)

    app.command(name, help=text)(command)


def _use_models(folder: str | None) -> None:
    """Use the ask models of a folder in this process."""
    if folder is not None:
        os.environ[MODELS_VARIABLE] = folder


@app.command()
def speed(
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 100_000,
    out: OutOption = None,
) -> None:
    """Time ingest and search, each next to its lower bound on this machine.

    [dim]holdfast bench speed --records 10000 --json speed.json[/dim]
    """
    from holdfast_bench import speed as bench

    _measure([], out, lambda progress: bench.run(records=records, progress=progress))


@app.command("engines")
def compare_engines(
    store: Annotated[
        str, typer.Option("--store", metavar="URL", help="A PostgreSQL server: postgresql://…", show_default=False)
    ],
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns of the largest.")] = 10_000,
    admit: Annotated[bool, typer.Option("--admit/--no-admit", help="Also make records of the turns.")] = True,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="Compare the hits of both on LoCoMo instead.", show_default=False),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="URL", help="A server to compare with, in place of SQLite.", show_default=False
        ),
    ] = None,
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """Compare SQLite and PostgreSQL: the speed of writes and answers, or whether they give the same answers.

    [dim]holdfast bench engines --store postgresql://holdfast@localhost/memory --json engines.json[/dim]
    """
    from holdfast_bench import engines
    from holdfast_bench.ask import AskOptions

    def run(progress: Step) -> dict[str, object]:
        if data:
            return engines.compare_hits(store, data, AskOptions(records=admit, limit=limit), progress)
        return engines.run(store, records, admit, progress, against=against)

    _measure(data or [], out, run)


@app.command()
def serve(
    seconds: Annotated[float, typer.Option("--seconds", min=1, metavar="S", help="Duration of each load.")] = 60.0,
    clients: Annotated[int, typer.Option("--clients", min=1, metavar="N", help="Concurrent clients.")] = 50,
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 10_000,
    pace: Annotated[
        float, typer.Option("--pace", min=0.01, metavar="S", help="Seconds between two calls of a client.")
    ] = 1.0,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="Server processes; one for each core.")
    ] = 1,
    out: OutOption = None,
) -> None:
    """Measure a server under the load of many clients, and the cost of RPC and HTTP next to a plain call.

    [dim]holdfast bench serve --seconds 60 --json serve.json[/dim]
    """
    from holdfast_bench import serve as bench

    _measure([], out, lambda progress: bench.run(seconds, clients, records, pace, processes, progress))


_add_data_command(
    "hostile",
    "Feed hostile texts to the store: nothing may be lost, cross a namespace or be obeyed.\n\n"
    "[dim]holdfast bench hostile --data texts.json --json hostile.json[/dim]",
)
_add_retrieval_command(
    "locomo",
    "LoCoMo: retrieval of the turns and sessions that answer a question, next to BM25 and plain vectors.\n\n"
    "[dim]holdfast bench locomo --data locomo.json --json figures.json[/dim]",
)


@app.command()
def longmemeval(
    data: DataOption,
    mode: Annotated[str, typer.Option("--mode", metavar="MODE", help="pool, global or lite.")] = "pool",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed for the other sessions of a pool.")] = 0,
    profile: ProfileOption = None,
    records: RecordsOption = None,
    limit: LimitOption = None,
    models: ModelsOption = None,
    rerank: RerankOption = False,
    out: OutOption = None,
) -> None:
    """LongMemEval: the same on dated chats with an assistant, many sessions per store.

    [dim]holdfast bench longmemeval --data oracle.json --mode pool --json figures.json[/dim]
    """
    from holdfast_bench import longmemeval as bench
    from holdfast_bench.ask import AskOptions

    _use_models(models)
    options = AskOptions(profile, records, limit, rerank)
    chosen = bench.read_mode(mode)
    _measure(data, out, lambda progress: bench.run(data, options, chosen, seed, progress), "show_retrieval")


@app.command()
def compare(
    locomo: Annotated[
        Path, typer.Option("--locomo", metavar="FILE", help="LoCoMo; the first five conversations.", show_default=False)
    ],
    life: Annotated[Path, typer.Option("--life", metavar="FILE", help="A life, as for lives.", show_default=False)],
    profile: ProfileOption = None,
    records: RecordsOption = None,
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """Compare Holdfast with plain BM25 and, where it is installed, mem0: same turns, same questions.

    [dim]holdfast bench compare --locomo locomo.json --life life4.json --json compare.json[/dim]
    """
    from holdfast_bench import compare as bench
    from holdfast_bench.ask import AskOptions

    options = AskOptions(profile, records, limit)
    _measure([locomo, life], out, lambda progress: bench.run(locomo, life, options, progress), "show_comparison")


_add_retrieval_command(
    "beam",
    "BEAM: the same on chats with an assistant, by the ability that a question tests.\n\n"
    "[dim]holdfast bench beam --data beam_100k.json --json figures.json[/dim]",
)
_add_retrieval_command(
    "pack",
    "Measure the share of evidence in a context of 1,000, 2,000 and 4,000 tokens, next to the first hits.\n\n"
    "[dim]holdfast bench pack --data locomo.json --data oracle.json --limit 100 --json pack.json[/dim]",
    show=None,
)
_add_data_command(
    "gate",
    "Measure how well the gate predicts what lasts (LoCoMo), and how much small talk becomes a record.\n\n"
    "[dim]holdfast bench gate --data locomo.json --data dailydialog.txt --json gate.json[/dim]",
)
_add_data_command(
    "halumem",
    "HaluMem: facts of the user are kept, inventions of the assistant are not, and updates replace old facts.\n\n"
    "[dim]holdfast bench halumem --data halumem_user0.json --json halumem.json[/dim]",
)
_add_data_command(
    "facts",
    "FactConsolidation: how often the newest of overriding facts is found first, next to BM25 and plain vectors.\n\n"
    "[dim]holdfast bench facts --data fact_consolidation.json --json facts.json[/dim]",
    "show_facts",
)


@app.command()
def merge(
    data: DataOption,
    profile: Annotated[
        str, typer.Option("--profile", metavar="PROFILE", help="static, onnx, or any embedder profile.")
    ] = "static",
    out: OutOption = None,
) -> None:
    """Measure which sentence pairs are merged (STS-B, MRPC, SICK), and what repeating the sample month adds.

    [dim]holdfast bench merge --data stsb.csv --data SICK.txt --profile onnx --json merge.json[/dim]
    """
    from holdfast_bench import merge as bench

    _measure(data, out, lambda progress: bench.run(data, progress, profile))


@app.command()
def compact(
    data: DataOption,
    turns: Annotated[
        int, typer.Option("--turns", min=0, metavar="N", help="Turns of the session that is timed; 0 for none.")
    ] = 10_000,
    out: OutOption = None,
) -> None:
    """Measure compaction: recall before and after, tokens, planted rules, and the rule detector (LoCoMo, BEAM, …).

    [dim]holdfast bench compact --data locomo.json --data lexdemod.csv --data dailydialog.txt --json compact.json[/dim]
    """
    from holdfast_bench import compact as bench

    _measure(data, out, lambda progress: bench.run(data, progress, turns))


@app.command()
def lives(
    data: DataOption,
    bars: Annotated[
        Path | None,
        typer.Option("--bars", metavar="FILE", help="Bars for the mean; a missed one ends with exit code 1."),
    ] = None,
    models: ModelsOption = None,
    rerank: RerankOption = False,
    out: OutOption = None,
) -> None:
    """Lives: what a memory is worth after months of one person's ordinary chat, for each life and on average.

    [dim]holdfast bench lives --data courier.json --data backend.json --bars bars.json --json lives.json[/dim]
    """
    from holdfast_bench import lives as bench
    from holdfast_bench.life_figures import check_bars, read_bars
    from holdfast_bench.render import show_bars

    limits = None if bars is None else read_bars(bars)
    measured: list[LivesFigures] = []

    def run(progress: Step) -> Mapping[str, object]:
        measured.append(bench.run(data, progress, rerank))
        return measured[0]

    _use_models(models)
    _measure(data, out, run, "show_lives")
    if limits is not None:
        results = check_bars(measured[0], limits)
        show_bars(results, [one["life"] for one in measured[0]["lives"]])
        if not all(one.held for one in results):
            raise typer.Exit(1)


@app.command()
def admission(
    data: DataOption,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", help="Output of an earlier run, to compare with."),
    ] = None,
    out: OutOption = None,
) -> None:
    """Measure precision and recall of records, and their confidence, on chats in which every sentence is labelled.

    [dim]holdfast bench admission --data bench/data/chats5.txt --json admission.json[/dim]
    """
    from holdfast_bench import admission as bench

    _measure(data, out, lambda progress: bench.run(data, progress, baseline))


_add_data_command(
    "changes",
    "Measure what a later statement does to an earlier one: changes, different facts, paraphrases, near misses.\n\n"
    "[dim]holdfast bench changes --data bench/data/changes1.jsonl --json changes.json[/dim]",
)
_add_data_command(
    "own",
    "Measure how often other people's words in a message become the user's, and the user's own are lost.\n\n"
    "[dim]holdfast bench own --data bench/data/own1.jsonl --data bench/data/orders.jsonl --json own.json[/dim]",
)


def _measure(
    data: Sequence[Path], out: Path | None, run: Callable[[Step], Mapping[str, object]], show: str | None = None
) -> None:
    """Check the paths first, because a run takes minutes; then run, print the figures and write all of them.

    `show` names a function of render.py.
    """
    if out is not None and not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} to")
    for path in data:
        if not path.is_file():
            raise InputError(f"there is no file {path}")
    with _progress_bar() as progress:
        figures = run(progress)
    if show is None:
        from holdfast_bench.render import show_plain

        show_plain({name: value for name, value in figures.items() if name not in _TEXT_LISTS and value is not None})
    else:
        getattr(import_module("holdfast_bench.render"), show)(figures)
    if out is not None:
        out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        typer.echo(f"written to {out}")


@contextmanager
def _progress_bar() -> Iterator[Step]:
    """Show one bar with the current step, unless stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda step, done, total: bars.update(task, description=step, completed=done, total=total)
