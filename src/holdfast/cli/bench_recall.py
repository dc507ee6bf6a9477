"""`holdfast bench locomo | longmemeval | beam`: how well search finds the turns that answer a question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.benching import DataOption, OutOption, Step, check_files, check_folder, report, steps
from holdfast.cli.show_retrieval import show_retrieval

__all__ = ["add_commands"]

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


def add_commands(app: typer.Typer) -> None:
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
    from holdfast.evaluate.asking import Ways
    from holdfast.evaluate.benchmarks import locomo as bench

    _measure(data, out, lambda progress: bench.run(data, Ways(profile, records, limit), progress))


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
    from holdfast.evaluate.asking import Ways
    from holdfast.evaluate.benchmarks import longmemeval as bench

    ways = Ways(profile, records, limit)
    chosen = bench.read_mode(mode)
    _measure(data, out, lambda progress: bench.run(data, ways, chosen, seed, progress))


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
    from holdfast.evaluate.asking import Ways
    from holdfast.evaluate.benchmarks import beam as bench

    _measure(data, out, lambda progress: bench.run(data, Ways(profile, records, limit), progress))


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
    from holdfast.evaluate.asking import Ways
    from holdfast.evaluate.benchmarks import pack as bench

    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = bench.run(data, Ways(profile, records, limit), progress)
    report(figures, out)


def _measure(data: list[Path], out: Path | None, run: Callable[[Step], dict[str, object]]) -> None:
    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = run(progress)
    report(figures, out, show_retrieval)
