"""The verbs by which a memory tells of itself: what the gates did, what replaced what, where thresholds should lie."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.memory_verbs import IdArgument
from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, SinceOption, StoreOption, open_to_read
from holdfast.cli.run import print_json


def stats(
    since: SinceOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count what the gates did, day by day: judged, refused, merged, replaced, added.

    [dim]holdfast stats --since "30 days ago"[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        counted = memory.stats(since)
    if as_json:
        print_json(counted)
        return
    from holdfast.cli.render_insight import show_stats

    show_stats(counted)


def history(
    noun_id: IdArgument,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a record replaced and what replaced it; of a turn, the records it made.

    [dim]holdfast history r-017dcdf…[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        told = memory.history(noun_id)
    if as_json:
        print_json(told)
        return
    from holdfast.cli.render_insight import show_history

    show_history(told)


def calibrate(
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='One label a line: {"turn": ID, "useful": true} or {"g": 0.4, "useful": false}.',
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at the gate's scores and, with labels, store what they mean: P(useful) for each G, and a threshold.

    [dim]holdfast calibrate --labels judged.jsonl[/dim]
    """
    from holdfast.gate.calibrate import labels_of_file

    read = None if labels is None else labels_of_file(labels)
    with open_to_read(store, namespace, embedder) as memory:
        made = memory.calibrate(read)
    if as_json:
        print_json(made)
        return
    from holdfast.cli.render_insight import show_calibration
    from holdfast.settings import load_settings

    show_calibration(made, load_settings().gate.threshold)


tune = typer.Typer(no_args_is_help=True, help="Try thresholds on your own data.")


@tune.callback()
def _tune() -> None:
    """Try thresholds on your own data."""


@tune.command()
def similarity(
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", metavar="COSINE", help="To try; more than one if you like.", show_default=False),
    ] = None,
    sample: Annotated[int, typer.Option(metavar="N", help="Pairs to judge.")] = 20,
    judged: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='The answer of --json with its "same" filled in.', show_default=False),
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how often each similarity threshold would fire, and give pairs to judge; judged, how often wrongly.

    [dim]holdfast tune similarity --json > pairs.json · holdfast tune similarity --judged pairs.json[/dim]
    """
    from holdfast.admit.tuning import judgements_of_file

    read = None if judged is None else judgements_of_file(judged)
    with open_to_read(store, namespace, embedder) as memory:
        tuning = memory.tune_similarity(threshold or None, sample, read)
    if as_json:
        print_json(tuning)
        return
    from holdfast.cli.render_insight import show_tuning

    show_tuning(tuning)
