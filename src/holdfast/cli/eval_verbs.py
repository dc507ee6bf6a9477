"""`holdfast eval …`: recall and extraction measured on one's own questions and transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, SinceOption, StoreOption, open_to_read
from holdfast.cli.render import calm, console, print_indented
from holdfast.cli.run import bar, print_json
from holdfast.probe.extractors import ExtractorComparison, ExtractorFigures, Noise, Paired
from holdfast.probe.run import MEASURES, GateReport, ProbeReport
from holdfast.probe.sweep import Sweep, Tried
from holdfast.results import DraftsAnswer

if TYPE_CHECKING:
    from holdfast.memory import Memory
    from holdfast.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Measure on your own questions.")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Probes, one JSON object a line.")]
DraftsOption = Annotated[bool, typer.Option("--drafts", help="Ask drafts too: their figures flatter.")]
SaveOption = Annotated[
    Path | None,
    typer.Option("--save-baseline", metavar="FILE", help="Keep this run to compare with.", show_default=False),
]


@app.callback()
def _eval() -> None:
    """Measure on your own questions."""


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To write; it must not be there yet.")],
    count: Annotated[int, typer.Option("--count", metavar="N", help="Drafts, at most.")] = 50,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draft probes from what is remembered, for you to complete: how would you really ask?

    [dim]holdfast eval init probes.jsonl --count 50[/dim]
    """
    from holdfast.probe.probes import draft_probes, probe_hash, write_probes
    from holdfast.results import DraftsAnswer

    with open_to_read(store, namespace, embedder) as memory:
        drafts = draft_probes(memory, count)
    write_probes(file, drafts)
    answer = DraftsAnswer(str(file), len(drafts), probe_hash(drafts))
    if as_json:
        print_json(answer)
        return

    show_drafts(answer)


@app.command()
def run(
    file: FileArgument,
    drafts: DraftsOption = False,
    save_baseline: SaveOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask every probe and say how far up its answer stands: p@1, p@3, p@5, MRR, with intervals.

    [dim]holdfast eval run probes.jsonl --save-baseline baseline.json[/dim]
    """
    from holdfast.probe.probes import read_probes
    from holdfast.probe.run import run_probes
    from holdfast.probe.run import save_baseline as save

    probes = read_probes(file)
    with open_to_read(store, namespace, embedder) as memory, bar("asking") as progress:
        report = run_probes(memory, probes, drafts=drafts, progress=progress)
    if save_baseline is not None:
        save(save_baseline, report)
    if as_json:
        print_json(report)
        return

    show_report(report)


@app.command()
def gate(
    file: FileArgument,
    baseline: Annotated[Path, typer.Option("--baseline", metavar="FILE", help="A run that was saved.")],
    tolerance: Annotated[float, typer.Option(metavar="SHARE", help="What p@1 and MRR may fall.")] = 0.02,
    drafts: DraftsOption = False,
    save_baseline: SaveOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare with a saved run, probe by probe; exit code 1 if p@1 or MRR fell.

    [dim]holdfast eval gate probes.jsonl --baseline baseline.json[/dim]
    """
    from holdfast.probe import run as probes_gate
    from holdfast.probe.probes import read_probes
    from holdfast.probe.run import run_probes

    before = probes_gate.read_baseline(baseline)
    probes = read_probes(file)
    with open_to_read(store, namespace, embedder) as memory, bar("asking") as progress:
        report = run_probes(memory, probes, drafts=drafts, progress=progress)
    judged = probes_gate.gate(report, before, tolerance)
    if save_baseline is not None and judged.passed:  # a run that fell behind is nothing to measure by
        probes_gate.save_baseline(save_baseline, report)
    if as_json:
        print_json(judged)
    else:
        show_gate(judged)
    if not judged.passed:
        raise typer.Exit(1)


@app.command()
def sweep(
    file: FileArgument,
    attempt: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="NAME=VALUE,…", help="Of the recall settings; more than once if you like.",
                     show_default=False),
    ] = None,
    drafts: DraftsOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Try other weights of recall on half of the probes and check what wins on the other half.

    [dim]holdfast eval sweep probes.jsonl --try words=.2,.4 --try window=.2,.4[/dim]
    """
    from holdfast.models.breaker import open_embedder
    from holdfast.probe.probes import read_probes
    from holdfast.probe.sweep import read_steps
    from holdfast.probe.sweep import sweep as try_all
    from holdfast.settings import load_settings

    settings = load_settings()
    probes = read_probes(file)
    steps = read_steps(attempt) if attempt else None
    shared = open_embedder(embedder or settings.embedder.profile, settings.embedder.timeout_s)

    def open_with(settings: Settings) -> AbstractContextManager[Memory]:
        return open_to_read(store, namespace, shared or "none", settings)

    try:
        with bar("trying") as progress:
            tried = try_all(open_with, probes, settings, steps, drafts=drafts, progress=progress)
    finally:
        if shared is not None:
            shared.close()
    if as_json:
        print_json(tried)
        return

    show_sweep(tried)


@app.command()
def extractors(
    file: Annotated[Path, typer.Argument(metavar="FILE", help='Messages, one a line, user turns with "facts".')],
    first: Annotated[str, typer.Option("--first", metavar="SPEC", help="rules, or URL#MODEL[@CRITERION].")] = "rules",
    second: Annotated[
        str, typer.Option("--second", metavar="SPEC", help="The other one, in the same way.", show_default=False)
    ] = ...,  # type: ignore[assignment]
    as_json: JsonOption = False,
) -> None:
    """Compare two extractors, or two prompts, on labelled transcripts: what each finds, and whether they differ.

    [dim]holdfast eval extractors talk.jsonl --first rules --second http://127.0.0.1:11434/v1#qwen3[/dim]
    """
    from holdfast.probe.extractors import compare, open_extractor, read_labelled_file
    from holdfast.settings import load_settings

    settings = load_settings()
    labelled = read_labelled_file(file)
    both = open_extractor(first, settings), open_extractor(second, settings)
    with bar("reading") as progress:
        compared = compare(*both, labelled, settings.admit.own_chars, progress)
    if as_json:
        print_json(compared)
        return

    show_comparison(compared)


@app.command()
def noise(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Probes whose questions are asked.", show_default=False)
    ] = None,
    since: SinceOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how much is kept and served that helps nobody: copies a week, refusals, hits below the floor.

    [dim]holdfast eval noise probes.jsonl --since "30 days ago"[/dim]
    """
    from holdfast.probe.extractors import measure_noise
    from holdfast.probe.probes import read_probes

    questions = [probe.question for probe in read_probes(file)] if file is not None else []
    with open_to_read(store, namespace, embedder) as memory:
        measured = measure_noise(memory, questions, since)
    if as_json:
        print_json(measured)
        return

    show_noise(measured)


# --- What was measured on one's own questions, for a person's eyes.


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


def show_comparison(compared: ExtractorComparison) -> None:
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
