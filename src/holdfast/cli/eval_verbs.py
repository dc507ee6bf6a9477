"""`holdfast eval …`: measure retrieval and extraction on your own questions and transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from holdfast.cli.command import MemoryTarget, argument, command, option, progress_bar
from holdfast.cli.memory_verbs import Since
from holdfast.cli.render import console, make_table, print_indented, printable
from holdfast.probe.extractors import ExtractorComparison, ExtractorFigures, Noise, Paired
from holdfast.probe.run import MEASURES, GateReport, ProbeReport
from holdfast.probe.sweep import Sweep, Tried
from holdfast.results import DraftsAnswer

if TYPE_CHECKING:
    from holdfast.memory import Memory
    from holdfast.settings import Settings

File = Annotated[Path, argument("Probes, one JSON object per line.", "FILE")]
Drafts = Annotated[bool, option("Also ask drafts, which use their answer's words and score too high.", "--drafts")]
Save = Annotated[Path | None, option("Save this run as a baseline.", "--save-baseline", metavar="FILE")]


@command("eval_verbs.show_drafts")
def init(
    target: MemoryTarget,
    file: Annotated[Path, argument("File to write; it must not exist.", "FILE")],
    count: Annotated[int, option("Maximum number of drafts.", "--count", metavar="N")] = 50,
) -> object:
    """Draft probes from what is stored, for you to complete: how would you really ask?

    [dim]holdfast eval init probes.jsonl --count 50[/dim]
    """
    from holdfast.probe.probes import draft_probes, probe_hash, write_probes

    with target.read() as memory:
        drafts = draft_probes(memory, count)
    write_probes(file, drafts)
    return DraftsAnswer(str(file), len(drafts), probe_hash(drafts))


def _run_probes(target: MemoryTarget, file: Path, drafts: bool) -> ProbeReport:
    from holdfast.probe.probes import read_probes
    from holdfast.probe.run import run_probes

    probes = read_probes(file)
    with target.read() as memory, progress_bar("asking") as progress:
        return run_probes(memory, probes, drafts=drafts, progress=progress)


@command("eval_verbs.show_report")
def run(target: MemoryTarget, file: File, drafts: Drafts = False, save_baseline: Save = None) -> object:
    """Ask every probe and report the rank of its answer: p@1, p@3, p@5 and MRR, with intervals.

    [dim]holdfast eval run probes.jsonl --save-baseline baseline.json[/dim]
    """
    from holdfast.probe.run import save_baseline as save

    report = _run_probes(target, file, drafts)
    if save_baseline is not None:
        save(save_baseline, report)
    return report


@command("eval_verbs.show_gate", exit_code=lambda judged: 0 if judged.passed else 1)
def gate(
    target: MemoryTarget,
    file: File,
    baseline: Annotated[Path, option("A saved run to compare with.", "--baseline", metavar="FILE")],
    tolerance: Annotated[float, option("Allowed decrease of p@1 and MRR.", metavar="SHARE")] = 0.02,
    drafts: Drafts = False,
    save_baseline: Save = None,
) -> object:
    """Compare with a saved run, probe by probe; exits with status 1 if p@1 or MRR decreased.

    [dim]holdfast eval gate probes.jsonl --baseline baseline.json[/dim]
    """
    from holdfast.probe import run as probe_run

    before = probe_run.read_baseline(baseline)
    report = _run_probes(target, file, drafts)
    judged = probe_run.gate(report, before, tolerance)
    if save_baseline is not None and judged.passed:  # a run that decreased is no baseline
        probe_run.save_baseline(save_baseline, report)
    return judged


@command("eval_verbs.show_sweep")
def sweep(
    target: MemoryTarget,
    file: File,
    attempt: Annotated[
        list[str] | None, option("Recall setting and values to try; repeatable.", "--try", metavar="NAME=VALUE,…")
    ] = None,
    drafts: Drafts = False,
) -> object:
    """Try other recall weights on half of the probes and verify the best on the other half.

    [dim]holdfast eval sweep probes.jsonl --try words=.2,.4 --try window=.2,.4[/dim]
    """
    from holdfast.models.embedder import open_embedder
    from holdfast.probe.probes import read_probes
    from holdfast.probe.sweep import read_steps
    from holdfast.probe.sweep import sweep as try_all
    from holdfast.settings import load_settings

    settings = load_settings()
    probes = read_probes(file)
    steps = read_steps(attempt) if attempt else None
    shared = open_embedder(str(target.embedder or settings.embedder.profile), settings.embedder.timeout_s)

    def open_with(settings: Settings) -> AbstractContextManager[Memory]:
        return replace(target, embedder=shared or "none").read(settings)

    try:
        with progress_bar("trying") as progress:
            return try_all(open_with, probes, settings, steps, drafts=drafts, progress=progress)
    finally:
        if shared is not None:
            shared.close()


@command("eval_verbs.show_comparison", without=("store", "namespace", "embedder"))
def extractors(
    target: MemoryTarget,
    file: Annotated[Path, argument('Messages, one per line, user turns with "facts".', "FILE")],
    second: Annotated[str, option("The other extractor, in the same form.", "--second", metavar="SPEC")],
    first: Annotated[str, option("rules, or URL#MODEL[@CRITERION].", "--first", metavar="SPEC")] = "rules",
) -> object:
    """Compare two extractors, or two prompts, on labelled transcripts: facts found, and whether they differ.

    [dim]holdfast eval extractors talk.jsonl --first rules --second http://127.0.0.1:11434/v1#qwen3[/dim]
    """
    from holdfast.admit.extract import AdmitWeights
    from holdfast.probe.extractors import compare, open_extractor, read_labelled_file
    from holdfast.settings import load_settings, tuned

    settings = load_settings()
    labelled = read_labelled_file(file)
    both = open_extractor(first, settings), open_extractor(second, settings)
    with progress_bar("extracting") as progress:
        return compare(*both, labelled, tuned(settings, AdmitWeights).own_chars, progress)


@command("eval_verbs.show_noise")
def noise(
    target: MemoryTarget,
    file: Annotated[Path | None, argument("Probes whose questions are asked.", "[FILE]")] = None,
    since: Since = None,
) -> object:
    """Measure what is stored and served without use: near-duplicates per week, refusals, hits below the floor.

    [dim]holdfast eval noise probes.jsonl --since "30 days ago"[/dim]
    """
    from holdfast.probe.extractors import measure_noise
    from holdfast.probe.probes import read_probes

    questions = [probe.question for probe in read_probes(file)] if file is not None else []
    with target.read() as memory:
        return measure_noise(memory, questions, since)


# --- printing

_SHOWN = 10  # questions that are listed; --json has all of them
_CHANCE = 0.05


def show_drafts(answer: DraftsAnswer) -> None:
    out = console()
    out.print(f"{answer.probes:,} drafts in {printable(answer.file)}.")
    out.print('Rewrite each question as you would ask it, set "draft" to false, and delete what is not worth asking:')
    out.print(Text(f"holdfast eval run {printable(answer.file)}", style="dim"))


def show_report(report: ProbeReport) -> None:
    out = console()
    left = f", {report.drafts:,} drafts skipped" if report.drafts else ""
    drifted = f", {len(report.drifted):,} drifted" if report.drifted else ""
    out.print(f"{report.asked:,} of {report.probes:,} probes asked{left}{drifted}; set {report.hash}")
    if report.figures is not None and report.intervals is not None:
        figures: Mapping[str, float] = dict(report.figures.items())  # type: ignore[arg-type]
        table = make_table("", "", "95 %")
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
        print_indented(out, Text(printable(question)), first="  • ")
    if len(questions) > _SHOWN:
        out.print(Text(f"    and {len(questions) - _SHOWN:,} more (--json has them)", style="dim"))


def show_gate(judged: GateReport) -> None:
    out = console()
    table = make_table("", "before", "now", "change", "95 %", "")
    for one in judged.changes:
        low, high = one.interval
        table.add_row(
            one.measure, f"{one.before:.3f}", f"{one.now:.3f}", f"{one.change:+.3f}", f"{low:+.3f} – {high:+.3f}",
            "decreased" if one.fell else "",
        )  # fmt: skip
    out.print(table)
    left = f"; {judged.left_out:,} in only one of the runs" if judged.left_out else ""
    out.print(f"{judged.compared:,} probes compared{left}; tolerance {judged.tolerance:g}")
    _list("ranked lower than before", list(judged.worse))
    out.print(Text("passed" if judged.passed else "failed", style="bold green" if judged.passed else "bold red"))


def show_sweep(tried: Sweep) -> None:
    out = console()
    out.print(f"{tried.tried:,} configurations, chosen on {tried.tuned_on:,} probes, verified on {tried.checked_on:,}")
    table = make_table("settings", "p@1", "p@3", "mrr", "verified p@1", "p@3", "mrr")
    for one in (tried.base, *(one for one in tried.front if one.settings)):
        table.add_row(_named(one), *(f"{value:.3f}" for value in _numbers(one)))
    out.print(table)
    if tried.best is None:
        out.print("No setting beats the current ones on both halves.")
        return
    assert tried.change is not None
    low, high = tried.change
    out.print(f"confirmed on the other half: {_named(tried.best)} (MRR {low:+.3f} – {high:+.3f})")
    if low <= 0:
        out.print("This may still be chance: use more probes before you change anything.")
    for name, value in tried.best.settings.items():
        out.print(Text(f"to use it: HOLDFAST_RECALL__WEIGHTS__{name.upper()}={value:g}", style="dim"))


def _named(one: Tried) -> str:
    return " ".join(f"{name}={value:g}" for name, value in one.settings.items()) or "current"


def _numbers(one: Tried) -> list[float]:
    return [part[name] for part in (one.tuned, one.checked) for name in ("p@1", "p@3", "mrr")]


def show_comparison(compared: ExtractorComparison) -> None:
    out = console()
    out.print(f"{compared.turns:,} turns, {compared.facts:,} facts")
    table = make_table("", "found", "recall", "precision", "F1", "correctly empty", "failed")
    for one in (compared.first, compared.second):
        table.add_row(printable(one.name), *_row(one))
    out.print(table)
    _print_paired("facts", compared.facts_found)
    _print_paired("turns without a fact, correctly empty", compared.kept_silent)
    low, high = compared.f1_change
    out.print(f"F1 of the second minus the first: {low:+.3f} – {high:+.3f} (95 %)")


def _row(one: ExtractorFigures) -> list[str]:
    shares = [f"{value:.3f}" for value in (one.recall, one.precision, one.f1)]
    return [f"{one.found:,}", *shares, f"{one.silent:,}", f"{one.failed:,}" if one.failed else ""]


def _print_paired(what: str, paired: Paired) -> None:
    verdict = "a difference" if paired.p < _CHANCE else "may be chance"
    console().print(
        f"{what}: {paired.only_first:,} only by the first, {paired.only_second:,} only by the second "
        f"(p = {paired.p:.3f}: {verdict})"
    )


def show_noise(noise: Noise) -> None:
    out = console()
    out.print(f"added although similar to a record, possibly duplicates: {noise.redundant_adds_per_week:.1f} per week")
    refused = ", ".join(f"{printable(reason)} {count:,}" for reason, count in noise.refused.items())
    out.print(f"refused: {refused or 'nothing'}")
    if not noise.recalls:
        out.print(Text("hits below the floor: not measured; name a file of probes", style="dim"))
        return
    out.print(
        f"{noise.hits_per_recall:.1f} hits per search ({noise.recalls:,} searches), of them below the floor: "
        f"{noise.sub_floor_records_per_recall:.2f} records, {noise.sub_floor_turns_per_recall:.2f} turns"
    )
