"""What was measured on one's own questions, for a person's eyes."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from holdfast.answers import DraftsAnswer
from holdfast.cli.show import calm, console, print_indented
from holdfast.evaluate.extractors import Comparison, ExtractorFigures, Paired
from holdfast.evaluate.noise import Noise
from holdfast.evaluate.probes_gate import GateReport
from holdfast.evaluate.probes_run import MEASURES, ProbeReport
from holdfast.evaluate.probes_sweep import Sweep, Tried

__all__ = ["show_comparison", "show_drafts", "show_gate", "show_noise", "show_report", "show_sweep"]

_GAPS = (0, 2, 0, 0)
_SHOWN = 10  # questions that are listed; all of them are in --json


def _table(*columns: str) -> Table:
    made = Table(box=None, padding=_GAPS)
    for number, name in enumerate(columns):
        made.add_column(name, justify="right" if number else "left")
    return made


def show_drafts(answer: DraftsAnswer) -> None:
    out = console()
    out.print(f"{answer.probes:,} drafts in {calm(answer.file)}.")
    out.print('Write each question as you would ask it, set "draft" to false, and remove what is not worth asking:')
    out.print(Text(f"holdfast eval run {calm(answer.file)}", style="dim"))


def show_report(report: ProbeReport) -> None:
    out = console()
    left = f", {report.drafts:,} drafts left out" if report.drafts else ""
    drifted = f", {len(report.drifted):,} drifted" if report.drifted else ""
    out.print(f"{report.asked:,} of {report.probes:,} probes asked{left}{drifted}; set {report.hash}")
    if report.figures is not None and report.intervals is not None:
        figures: Mapping[str, float] = dict(report.figures.items())  # type: ignore[arg-type]
        table = _table("", "", "95 %")
        for name in MEASURES:
            low, high = report.intervals[name]
            table.add_row(name, f"{figures[name]:.3f}", f"{low:.3f} – {high:.3f}")
        out.print(table)
    if report.in_prompt is not None:
        out.print(f"reached the prompt: {report.in_prompt:.1%}")
    elif report.in_prompt_note:
        out.print(Text(f"reached the prompt: not measured, {report.in_prompt_note}", style="dim"))
    if report.search_ms is not None:
        out.print(f"search: {report.search_ms['p50']:.1f} ms p50, {report.search_ms['p95']:.1f} ms p95")
    _list("not among the first 10", [one.question for one in report.each if one.rank is None])
    _list("drifted", [f"{one.question} ({'; '.join(one.why)})" for one in report.drifted])


def _list(title: str, questions: list[str]) -> None:
    out = console()
    if questions:
        out.print(Text(f"{title}:", style="bold"))
    for question in questions[:_SHOWN]:
        print_indented(out, Text(calm(question)), first="  • ")
    if len(questions) > _SHOWN:
        out.print(Text(f"    and {len(questions) - _SHOWN:,} more (--json has them)", style="dim"))


def show_gate(judged: GateReport) -> None:
    out = console()
    table = _table("", "before", "now", "change", "95 %", "")
    for one in judged.changes:
        low, high = one.interval
        table.add_row(
            one.measure, f"{one.before:.3f}", f"{one.now:.3f}", f"{one.change:+.3f}", f"{low:+.3f} – {high:+.3f}",
            "fell" if one.fell else "",
        )  # fmt: skip
    out.print(table)
    left = f"; {judged.left_out:,} asked only once" if judged.left_out else ""
    out.print(f"{judged.compared:,} probes compared{left}; {judged.tolerance:g} is tolerated")
    _list("farther down than before", list(judged.worse))
    out.print(
        Text("no step back" if judged.passed else "a step back", style="bold green" if judged.passed else "bold red")
    )


def show_sweep(tried: Sweep) -> None:
    out = console()
    out.print(f"{tried.tried:,} configurations, chosen on {tried.tuned_on:,} probes, checked on {tried.checked_on:,}")
    table = _table("settings", "p@1", "p@3", "mrr", "check p@1", "p@3", "mrr")
    for one in (tried.base, *(one for one in tried.front if one.settings)):
        table.add_row(_named(one), *(f"{value:.3f}" for value in _numbers(one)))
    out.print(table)
    if tried.best is None:
        out.print("Nothing beats the settings in use on both halves: leave them.")
        return
    assert tried.change is not None
    low, high = tried.change
    out.print(f"borne out by the other half: {_named(tried.best)} (MRR {low:+.3f} – {high:+.3f} there)")
    if low <= 0:
        out.print("That may still be chance: ask more probes before you change anything.")
    for name, value in tried.best.settings.items():
        out.print(Text(f"to use it: HOLDFAST_RECALL__{name.upper()}={value:g}", style="dim"))


def _named(one: Tried) -> str:
    return " ".join(f"{name}={value:g}" for name, value in one.settings.items()) or "as it is"


def _numbers(one: Tried) -> list[float]:
    return [part[name] for part in (one.tuned, one.checked) for name in ("p@1", "p@3", "mrr")]


def show_comparison(compared: Comparison) -> None:
    out = console()
    out.print(f"{compared.turns:,} turns, {compared.facts:,} facts")
    table = _table("", "found", "recall", "precision", "F1", "kept silent", "failed")
    for one in (compared.first, compared.second):
        table.add_row(calm(one.name), *_row(one))
    out.print(table)
    _print_paired("facts", compared.facts_found)
    _print_paired("turns without a fact, rightly silent", compared.kept_silent)
    low, high = compared.f1_change
    out.print(f"F1 of the second less the first: {low:+.3f} – {high:+.3f} (95 %)")


def _row(one: ExtractorFigures) -> list[str]:
    shares = [f"{value:.3f}" for value in (one.recall, one.precision, one.f1)]
    return [f"{one.found:,}", *shares, f"{one.silent:,}", f"{one.failed:,}" if one.failed else ""]


def _print_paired(what: str, paired: Paired) -> None:
    verdict = "a difference" if paired.p < _CHANCE else "may be chance"
    console().print(
        f"{what}: {paired.only_first:,} only by the first, {paired.only_second:,} only by the second "
        f"(p = {paired.p:.3f}: {verdict})"
    )


_CHANCE = 0.05


def show_noise(noise: Noise) -> None:
    out = console()
    out.print(f"added beside a near record, a copy at worst: {noise.redundant_adds_per_week:.1f} a week")
    refused = ", ".join(f"{calm(reason)} {count:,}" for reason, count in noise.refused.items())
    out.print(f"refused: {refused or 'nothing'}")
    if not noise.recalls:
        out.print(
            Text("hits below the floor: not measured; give a file of probes whose questions are asked", style="dim")
        )
        return
    out.print(
        f"of {noise.hits_per_recall:.1f} hits a recall ({noise.recalls:,} asked), below the floor: "
        f"{noise.sub_floor_records_per_recall:.2f} records, {noise.sub_floor_turns_per_recall:.2f} turns"
    )
