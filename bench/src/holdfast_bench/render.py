"""The figures of `bench facts` as one table: search and what it is compared with, all sizes together, then each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_HOPS = ("single_hop", "multi_hop")
_MEASURES = ("newest_first", "newest@5", "stale_first")
_TABLES = (*_HOPS, "baselines")
_LISTS = ("sizes", "examples")


def show_facts(figures: Mapping[str, object]) -> None:
    from rich.table import Table

    from holdfast.cli.render import console, show_figures

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("facts")
    table.add_column("asked")
    table.add_column("by")
    for heading in ("n", *_MEASURES):
        table.add_column(heading, justify="right")
    for row in _rows(figures):
        table.add_row(*row)
    console().print(table)
    show_figures({**_told(figures), **_without(figures, _LISTS)})


def _told(figures: Mapping[str, object]) -> dict[str, object]:
    """How many facts each size holds, and what became of them."""
    sizes = _part(figures, "sizes").items()
    return {str(name): _without(size, ()) for name, size in sizes if isinstance(size, Mapping)}


def _without(part: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name, value in part.items() if name not in (*_TABLES, *names)}


def _rows(figures: Mapping[str, object]) -> Iterator[list[str]]:
    yield from _hops("all", figures)
    for size, part in _part(figures, "sizes").items():
        if isinstance(part, Mapping):
            yield from _hops(str(size), part)


def _hops(size: str, part: Mapping[str, object]) -> Iterator[list[str]]:
    from holdfast.cli.render import printable

    baselines = {name: plain for name, plain in _part(part, "baselines").items() if isinstance(plain, Mapping)}
    for hops in _HOPS:
        for name, of in {"holdfast": part, **baselines}.items():
            told = _part(of, hops)
            if told.get("n"):
                yield [printable(size), hops, name, str(told["n"]), *(f"{told[measure]:.3f}" for measure in _MEASURES)]


def _part(figures: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = figures.get(name)
    return part if isinstance(part, Mapping) else {}


# --- The figures of a retrieval bench as one table: search first, then what it is compared with, then its
# categories.


_SHOWN = ("any@5", "all@5", "all@10", "recall@10", "mrr")
"""What fits a terminal; the file holds all."""
_LEVELS = ("turn", "session")
_SHOW_RETRIEVAL_TABLES = ("turn", "session", "by_category", "baselines", "ci")


def show_retrieval(figures: Mapping[str, object]) -> None:
    from rich.table import Table

    from holdfast.cli.render import console, show_figures

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column("level")
    table.add_column("n", justify="right")
    for measure in _SHOWN:
        table.add_column(measure, justify="right")
    for row in _show_retrieval_rows(figures):
        table.add_row(*row)
    console().print(table)
    show_figures({name: value for name, value in figures.items() if name not in _SHOW_RETRIEVAL_TABLES})


def _show_retrieval_rows(figures: Mapping[str, object]) -> Iterator[list[str]]:
    n = figures.get("n")
    yield from _levels("holdfast", n, figures)
    for baseline, part in _part(figures, "baselines").items():
        if isinstance(part, Mapping):
            yield from _levels(str(baseline), n, part)
    for category, part in _part(figures, "by_category").items():
        if isinstance(part, Mapping):
            yield from _levels(str(category), part.get("n"), part)


def _levels(name: str, n: object, part: Mapping[str, object]) -> Iterator[list[str]]:
    from holdfast.cli.render import printable

    for level in _LEVELS:
        scores = _part(part, level)
        if scores:
            yield [printable(name), level, str(n), *(f"{scores[measure]:.3f}" for measure in _SHOWN)]
