"""The figures of a retrieval bench as one table: search first, then what it is compared with, then its categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

__all__ = ["show_retrieval"]

_SHOWN = ("any@5", "all@5", "all@10", "recall@10", "mrr")
"""What fits a terminal; the file holds all."""
_LEVELS = ("turn", "session")
_TABLES = ("turn", "session", "by_category", "baselines", "ci")


def show_retrieval(figures: Mapping[str, object]) -> None:
    from rich.table import Table

    from holdfast.cli.show import console, show_figures

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column("level")
    table.add_column("n", justify="right")
    for measure in _SHOWN:
        table.add_column(measure, justify="right")
    for row in _rows(figures):
        table.add_row(*row)
    console().print(table)
    show_figures({name: value for name, value in figures.items() if name not in _TABLES})


def _rows(figures: Mapping[str, object]) -> Iterator[list[str]]:
    n = figures.get("n")
    yield from _levels("holdfast", n, figures)
    for baseline, part in _part(figures, "baselines").items():
        if isinstance(part, Mapping):
            yield from _levels(str(baseline), n, part)
    for category, part in _part(figures, "by_category").items():
        if isinstance(part, Mapping):
            yield from _levels(str(category), part.get("n"), part)


def _levels(name: str, n: object, part: Mapping[str, object]) -> Iterator[list[str]]:
    from holdfast.cli.show import calm

    for level in _LEVELS:
        scores = _part(part, level)
        if scores:
            yield [calm(name), level, str(n), *(f"{scores[measure]:.3f}" for measure in _SHOWN)]


def _part(figures: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = figures.get(name)
    return part if isinstance(part, Mapping) else {}
