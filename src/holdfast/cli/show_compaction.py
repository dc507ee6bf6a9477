"""Compaction for a person's eyes."""

from __future__ import annotations

from rich.text import Text

from holdfast.cli.show import calm, console, counted, print_noun
from holdfast.insight import Active, Compaction

__all__ = ["show_active", "show_compaction"]


def show_compaction(made: Compaction) -> None:
    out = console()
    out.print(Text(f"{calm(made.session)}: {made.reason}", style="bold"))
    if made.did_compact:
        saved = 1 - made.tokens_after / made.tokens_before if made.tokens_before else 0.0
        how = f"{made.summary_method}, confidence {made.mean_confidence:.2f}"
        kept = f"{counted(made.protected, 'turn')} with rules kept word for word"
        out.print(f"  {counted(len(made.summaries), 'digest')} ({how}), {kept}")
        out.print(f"  {made.tokens_before:,} tokens became {made.tokens_after:,} ({saved:.0%} less)")
    for note in made.notes:
        out.print(Text(f"  {calm(note)}", style="yellow"))
    if made.did_compact:
        out.print(Text(f"look at it with: holdfast active {calm(made.session)}", style="dim"))


def show_active(view: Active, full: bool) -> None:
    out = console()
    held = ((view.summaries, "digest"), (view.guidance, "rule"), (view.turns, "turn"))
    counts = ", ".join(counted(len(nouns), noun) for nouns, noun in held)
    out.print(Text(f"{calm(view.session)}: {counts}, {view.tokens:,} tokens", style="bold"))
    for record in (*view.summaries, *view.guidance):
        print_noun(out, record, full)
    for turn in view.turns:
        print_noun(out, turn, full)
