"""`holdfast eval …`: recall and extraction measured on one's own questions and transcripts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import (
    EmbedderOption,
    JsonOption,
    NamespaceOption,
    SinceOption,
    StoreOption,
    open_to_read,
)
from holdfast.cli.progress import bar

if TYPE_CHECKING:
    from holdfast.memory import Memory
    from holdfast.settings import Settings

__all__ = ["app"]

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
    from holdfast.answers import DraftsAnswer
    from holdfast.evaluate.probes import probe_hash, write_probes
    from holdfast.evaluate.probes_draft import draft_probes

    with open_to_read(store, namespace, embedder) as memory:
        drafts = draft_probes(memory, count)
    write_probes(file, drafts)
    answer = DraftsAnswer(str(file), len(drafts), probe_hash(drafts))
    if as_json:
        print_json(answer)
        return
    from holdfast.cli.show_eval import show_drafts

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
    from holdfast.evaluate.probes import probes_of_file
    from holdfast.evaluate.probes_gate import save_baseline as save
    from holdfast.evaluate.probes_run import run_probes

    probes = probes_of_file(file)
    with open_to_read(store, namespace, embedder) as memory, bar("asking") as progress:
        report = run_probes(memory, probes, drafts=drafts, progress=progress)
    if save_baseline is not None:
        save(save_baseline, report)
    if as_json:
        print_json(report)
        return
    from holdfast.cli.show_eval import show_report

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
    from holdfast.evaluate import probes_gate
    from holdfast.evaluate.probes import probes_of_file
    from holdfast.evaluate.probes_run import run_probes

    before = probes_gate.read_baseline(baseline)
    probes = probes_of_file(file)
    with open_to_read(store, namespace, embedder) as memory, bar("asking") as progress:
        report = run_probes(memory, probes, drafts=drafts, progress=progress)
    judged = probes_gate.gate(report, before, tolerance)
    if save_baseline is not None and judged.passed:  # a run that fell behind is nothing to measure by
        probes_gate.save_baseline(save_baseline, report)
    if as_json:
        print_json(judged)
    else:
        from holdfast.cli.show_eval import show_gate

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
    from holdfast.evaluate.probes import probes_of_file
    from holdfast.evaluate.probes_sweep import read_steps
    from holdfast.evaluate.probes_sweep import sweep as try_all
    from holdfast.models.open import open_embedder
    from holdfast.settings import load_settings

    settings = load_settings()
    probes = probes_of_file(file)
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
    from holdfast.cli.show_eval import show_sweep

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
    from holdfast.evaluate.extractors import compare, open_extractor
    from holdfast.evaluate.transcripts import labelled_of_file
    from holdfast.settings import load_settings

    settings = load_settings()
    labelled = labelled_of_file(file)
    both = open_extractor(first, settings), open_extractor(second, settings)
    with bar("reading") as progress:
        compared = compare(*both, labelled, settings.admit.own_chars, progress)
    if as_json:
        print_json(compared)
        return
    from holdfast.cli.show_eval import show_comparison

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
    from holdfast.evaluate.noise import measure_noise
    from holdfast.evaluate.probes import probes_of_file

    questions = [probe.question for probe in probes_of_file(file)] if file is not None else []
    with open_to_read(store, namespace, embedder) as memory:
        measured = measure_noise(memory, questions, since)
    if as_json:
        print_json(measured)
        return
    from holdfast.cli.show_eval import show_noise

    show_noise(measured)
