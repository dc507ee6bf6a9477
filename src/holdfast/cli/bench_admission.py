"""`holdfast bench gate | halumem | facts | merge | compact`: what is kept, replaced, made one and shortened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.benching import DataOption, OutOption, Show, Step, check_files, check_folder, report, steps

__all__ = ["add_commands"]

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
    from holdfast.evaluate.benchmarks import gate as bench

    _measure(data, out, lambda progress: bench.run(data, progress))


def halumem(data: DataOption, out: OutOption = None) -> None:
    """HaluMem: what people tell is kept, what an assistant invents is not, what changed makes way.

    [dim]holdfast bench halumem --data halumem_user0.json --json halumem.json[/dim]
    """
    from holdfast.evaluate.benchmarks import halumem as bench

    _measure(data, out, lambda progress: bench.run(data, progress))


def facts(data: DataOption, out: OutOption = None) -> None:
    """FactConsolidation: is the newest of facts that override each other found first, beside BM25 and plain vectors?

    [dim]holdfast bench facts --data fact_consolidation.json --json facts.json[/dim]
    """
    from holdfast.cli.show_facts import show_facts
    from holdfast.evaluate.benchmarks import facts as bench

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
    from holdfast.evaluate.benchmarks import merge as bench

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
    from holdfast.evaluate.benchmarks import compact as bench

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
    from holdfast.cli.show import show_figures

    show_figures({name: value for name, value in figures.items() if name not in _TO_LOOK_AT and value is not None})
