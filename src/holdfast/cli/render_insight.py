"""Text output of stats, history, calibrate and tune."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from holdfast.cli.render import console, format_time, make_table, plural, print_decision, print_indented, printable
from holdfast.gate.calibrate import probability
from holdfast.results import (
    Admitted,
    Bin,
    Calibration,
    DayStats,
    History,
    Operating,
    Pair,
    Stats,
    ThresholdFigures,
    Tuning,
    Version,
)
from holdfast.settings import load_settings

_BAR, _LABEL_BAR = 30, 16  # widest bars, in characters


# --- stats


def show_stats(stats: Stats, by_day: bool = True) -> None:
    out = console()
    if not stats.days:
        out.print("No turn was judged in this period. Records are made only if admit.enabled is on.")
        return
    table = make_table("day", *_COLUMNS)
    for day in stats.days if by_day else ():
        table.add_row(day.day, *_row(day))
    table.add_row("all", *_row(stats.total), style="bold")
    out.print(table)
    total = stats.total
    if total.refused:
        out.print("refused: " + ", ".join(f"{printable(reason)} {count:,}" for reason, count in total.refused.items()))
    others = [("below the threshold", total.below_threshold), ("pasted or imported", total.others_words)]
    for name, count in others:
        if count:
            out.print(f"turns {name}: {count:,}")
    out.print(f"{stats.records_per_turn:.2f} new records per turn; {stats.repeated:.0%} of the candidates were known")
    out.print(
        f"candidates similar to a record: {total.triggers:,}; {total.merged:,} merged, {total.dropped:,} dropped, "
        f"{total.redundant_adds:,} added, possibly duplicates ({stats.redundant_adds_per_week:.1f} per week)"
    )


_COLUMNS = (
    "turns", "not\nsalient", "nothing\ndurable", "candi-\ndates", "refused", "merged", "dropped", "replac-\ning",
    "added",
)  # fmt: skip


def _row(one: DayStats | Admitted) -> list[str]:
    numbers = (
        one.turns, one.not_salient, one.nothing_durable, one.candidates, sum(one.refused.values()), one.merged,
        one.dropped, one.superseded, one.added,
    )  # fmt: skip
    return [f"{number:,}" if number else "·" for number in numbers]


# --- history


def show_history(history: History) -> None:
    out = console()
    if not history.versions:
        out.print(f"No record was made from {printable(history.id)}; see holdfast why {printable(history.id)}.")
    for version in history.versions:
        _print_version(version, asked=version.record.id == history.id)


def _print_version(version: Version, asked: bool) -> None:
    out = console()
    record = version.record
    head = Text(_span(version), style="bold" if version.live else "dim")
    head.append(f"  {record.kind.value}", style="bold blue")
    head.append(f"  {record.id}", style="bold" if asked else "dim not bold")
    out.print(head)
    print_indented(out, Text(printable(record.text), style="" if version.live else "dim"))
    for decision in version.reasons:
        print_decision(out, decision)
    for turn in version.sources:
        line = Text(f"{format_time(turn.at)} {turn.role.value} {printable(turn.session)} {turn.id}", style="dim")
        print_indented(out, line, first="  ← ")


def _span(version: Version) -> str:
    record = version.record
    if record.valid_to is not None:
        return f"{format_time(record.valid_from)} – {format_time(record.valid_to)}"
    return f"{format_time(record.valid_from)} – " + ("now" if version.live else "forgotten")


# --- calibration


def show_calibration(made: Calibration) -> None:
    out = console()
    threshold = load_settings().gate.threshold
    filled = [number for number, one in enumerate(made.distribution) if one.turns or one.useful or one.useless]
    if not filled:
        out.print("No turn has been judged yet, so there are no scores (the gate judges if admit.enabled is on).")
        return
    suggested = made.suggested.threshold if made.suggested else None
    table = make_table("G", left=0)
    table.add_column(f"{made.turns:,} turns")
    if made.labels:
        table.add_column("useful ● or not ○")
        table.add_column("P(useful)", justify="right")
    table.add_column("")
    most_turns = max(one.turns for one in made.distribution) or 1
    most_labels = max(one.useful + one.useless for one in made.distribution) or 1
    bars = made.distribution[filled[0] : filled[-1] + 1]
    for one, after in zip(bars, [*(bar.low for bar in bars[1:]), 1.0], strict=True):
        row = [f"{one.low:.2f}", _bar("█", one.turns, most_turns, _BAR) + (f" {one.turns:,}" if one.turns else "")]
        if made.labels:
            row += [_labels(one, most_labels), f"{probability(made.curve, (one.low + after) / 2):.2f}"]
        table.add_row(*row, _marks(one.low, after, threshold, suggested), style=None)
    out.print(table)
    if made.labels:
        _print_advice(made)


def _bar(mark: str, count: int, most: int, width: int) -> str:
    return mark * (max(1, round(count / most * width)) if count else 0)


def _labels(one: Bin, most: int) -> str:
    return _bar("●", one.useful, most, _LABEL_BAR) + _bar("○", one.useless, most, _LABEL_BAR)


def _marks(low: float, high: float, threshold: float, suggested: float | None) -> str:
    marks = [("gate.threshold", threshold), ("suggested", suggested)]
    return ", ".join(f"← {name} {at:.2f}" for name, at in marks if at is not None and low <= at + 1e-9 < high)


def _print_advice(made: Calibration) -> None:
    out = console()
    stored = f", stored {format_time(made.at)}" if made.at is not None else ""
    out.print(f"{made.labels:,} labels, {made.useful:,} of them useful{stored}")
    if made.suggested is None:
        out.print("No threshold is suggested: at no score is a turn useful more often than not.")
    else:
        out.print(f"suggested: {_at(made.suggested)}: the lowest G from which a turn is useful more often than not")
        out.print(Text(f"to use it: HOLDFAST_GATE__THRESHOLD={made.suggested.threshold:.4g}", style="dim"))
    if made.current is not None:
        out.print(f"in use:    {_at(made.current)}")


def _at(one: Operating) -> str:
    return f"{one.threshold:.2f} (precision {one.precision:.2f}, recall {one.recall:.2f} on these labels)"


# --- tuning


def show_tuning(tuning: Tuning) -> None:
    out = console()
    compared = (("candidates and records", tuning.records), ("turns and earlier turns", tuning.turns))
    for name, figures in compared:
        _print_figures(f"{figures[0].compared:,} {name}", figures, tuning.threshold)
    if not tuning.sample:
        out.print("No pair is similar enough to be judged.")
        return
    out.print(Text(f"{plural(len(tuning.sample), 'pair')} to judge: do both say the same?", style="bold"))
    for number, pair in enumerate(tuning.sample, 1):
        _print_pair(number, pair)


def _print_figures(title: str, figures: Sequence[ThresholdFigures], used: float) -> None:
    columns = ("threshold", "fires", "share", "copies", "merges", "stopped", "judged", "false merges", "missed")
    table = make_table(*columns, left=0, title=title)
    for one in figures:
        wrong = "" if one.false_merge_rate is None else f"{one.false_merges:,} ({one.false_merge_rate:.1%})"
        table.add_row(
            f"{one.threshold:.2f}" + (" *" if one.threshold == used else "  "),
            f"{one.triggers:,}", f"{one.trigger_rate:.1%}", f"{one.copies:,}", f"{one.merges:,}", f"{one.stopped:,}",
            f"{one.judged:,}" if one.judged else "", wrong, f"{one.missed:,}" if one.missed else "",
        )  # fmt: skip
    out = console()
    out.print(table)
    out.print()


def _print_pair(number: int, pair: Pair) -> None:
    out = console()
    verdict = "would merge" if pair.merges else "kept apart"
    out.print(Text(f"{number:>2}  {pair.cosine:.2f}  {verdict}: {printable(pair.reason)}", style="dim"))
    for text in (pair.new, pair.old):
        print_indented(out, Text(" ".join(printable(text).split())), most=2)
