"""Tables for the figures of the lives, facts and retrieval benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast_bench.life_figures import BarResult

_HOPS = ("single_hop", "multi_hop")
_FACT_MEASURES = ("newest_first", "newest@5", "stale_first")
_FACT_TABLES = (*_HOPS, "baselines")
_FACT_LISTS = ("sizes", "examples")
_RETRIEVAL_MEASURES = ("any@5", "all@5", "all@10", "recall@10", "mrr")  # measures that fit a terminal; the file has all
_LEVELS = ("turn", "session")
_RETRIEVAL_TABLES = ("turn", "session", "by_category", "baselines", "ci")

_COMPARED = ("recall@10", "mrr", "first_3")
_LIFE_MEASURES = {
    "records": (
        "records", "good", "coverage", "clean_coverage", "stale", "noticed", "lost", "noise_recorded", "same_kept_once",
        "rules_covered", "rules_of_kind_guidance",
    ),
    "tasks": ("present", "as_rules", "follow_not_a_rule", "leaked"),
    "questions": (
        "first_1", "first_3", "first_10", "context_1000", "context_2000", "changed_new_first",
        "context_old_without_new", "wide_facts_in_10", "unknown_silent",
    ),
    "echo": ("first_1", "first_3", "question_is_hit_1"),
}  # fmt: skip
"""The measures that are shown; the file has all."""


def show_lives(figures: Mapping[str, object]) -> None:
    """Print a column per life and the mean."""
    from holdfast.cli.render import printable

    found = figures["lives"]
    lives = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    columns = [*lives, _part(figures, "mean")]
    rows = [
        [f"{section}.{name}", *(_cell(_part(one, section).get(name)) for one in columns)]
        for section, names in _LIFE_MEASURES.items()
        for name in names
    ]
    _print_table(("",), (*(printable(str(one["life"])) for one in lives), "mean"), rows)
    show_plain(_without(figures, ("lives", "mean")))


def show_comparison(figures: Mapping[str, object]) -> None:
    """Print a row per set and system."""
    sets = _part(figures, "sets")
    rows = [
        [name, system, *(_cell(_part(_part(_part(sets, name), "systems"), system)[measure]) for measure in _COMPARED)]
        for name in sets
        for system in _part(_part(sets, name), "systems")
    ]
    _print_table(("set", "system"), _COMPARED, rows)
    show_plain(_without(figures, ("sets",)))


def show_plain(figures: Mapping[str, object]) -> None:
    """Print the figures one per line, intervals as "low to high"."""
    from holdfast.cli.render import show_figures

    show_figures({name: _inline(value) for name, value in figures.items()})


def _inline(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _inline(inner) for name, inner in value.items()}
    return " to ".join(map(str, value)) if isinstance(value, tuple) else value


def show_bars(results: Sequence[BarResult], lives: Sequence[str]) -> None:
    """Print every bar, whether the mean holds it, and the values."""
    rows = [
        [
            "held" if one.held else "MISSED",
            f"{one.name} {one.bar}",
            *(_cell(value) for value in (*one.lives, one.value)),
        ]
        for one in results
    ]
    _print_table(("bar", ""), (*lives, "mean"), rows)


def _cell(value: object) -> str:
    """Return a figure for a table; a list of texts counts by its length, a pair is before and after."""
    if isinstance(value, tuple):
        return " > ".join(_cell(one) for one in value)
    if isinstance(value, list):
        return str(len(value))
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def show_facts(figures: Mapping[str, object]) -> None:
    """Print search and its baselines, for all sizes together and for each."""
    from holdfast.cli.render import show_figures

    sizes = {str(size): part for size, part in _part(figures, "sizes").items() if isinstance(part, Mapping)}
    rows = [row for size, part in {"all": figures, **sizes}.items() for row in _hop_rows(size, part)]
    _print_table(("facts", "asked", "by"), ("n", *_FACT_MEASURES), rows)
    counts = {size: _without(part, _FACT_TABLES) for size, part in sizes.items()}
    show_figures({**counts, **_without(figures, (*_FACT_TABLES, *_FACT_LISTS))})


def show_retrieval(figures: Mapping[str, object]) -> None:
    """Print search, then its baselines, then the categories."""
    from holdfast.cli.render import show_figures

    rows = [*_level_rows("holdfast", figures.get("n"), figures)]
    for baseline, part in _part(figures, "baselines").items():
        if isinstance(part, Mapping):
            rows += _level_rows(str(baseline), figures.get("n"), part)
    for category, part in _part(figures, "by_category").items():
        if isinstance(part, Mapping):
            rows += _level_rows(str(category), part.get("n"), part)
    _print_table(("", "level"), ("n", *_RETRIEVAL_MEASURES), rows)
    show_figures(_without(figures, _RETRIEVAL_TABLES))


def _print_table(names: tuple[str, ...], numbers: tuple[str, ...], rows: list[list[str]]) -> None:
    from rich.table import Table

    from holdfast.cli.render import console

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in names:
        table.add_column(heading, overflow="fold" if not heading else "ellipsis")
    for heading in numbers:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _hop_rows(size: str, part: Mapping[str, object]) -> Iterator[list[str]]:
    from holdfast.cli.render import printable

    baselines = {name: plain for name, plain in _part(part, "baselines").items() if isinstance(plain, Mapping)}
    for hops in _HOPS:
        for name, of in {"holdfast": part, **baselines}.items():
            scores = _part(of, hops)
            if scores.get("n"):
                values = (f"{scores[measure]:.3f}" for measure in _FACT_MEASURES)
                yield [printable(size), hops, name, str(scores["n"]), *values]


def _level_rows(name: str, n: object, part: Mapping[str, object]) -> Iterator[list[str]]:
    from holdfast.cli.render import printable

    for level in _LEVELS:
        scores = _part(part, level)
        if scores:
            yield [printable(name), level, str(n), *(f"{scores[measure]:.3f}" for measure in _RETRIEVAL_MEASURES)]


def _part(figures: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = figures.get(name)
    return part if isinstance(part, Mapping) else {}


def _without(part: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name, value in part.items() if name not in names}
