"""A context for a person's eyes: the block as a model gets it, and every candidate with its reason."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import calm, console, show_receipt
from holdfast.context.result import Context

__all__ = ["show_context"]


def show_context(made: Context, explain: bool) -> None:
    if made.text:
        typer.echo(made.text, nl=False)
    else:
        typer.echo(f"holdfast: {made.receipt.reason}", err=True)
    if made.degraded:
        typer.echo(f"holdfast: degraded: {' '.join(calm(made.degraded).split())}", err=True)
    if explain:
        _explain(made)


def _explain(made: Context) -> None:
    out = console()
    receipt = made.receipt
    show_receipt(receipt)
    out.print(
        f"{made.tokens} of {receipt.budget} tokens by {receipt.counter}, {receipt.frame_tokens} of them the frame's"
    )
    tiers = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("tier", "candidates", "in", "tokens", "at most"):
        tiers.add_column(column, justify="left" if column == "tier" else "right")
    for use in receipt.tiers:
        most = "never cut" if use.limit is None else str(use.limit)
        tiers.add_row(use.tier, str(use.candidates), str(use.included), str(use.tokens), most)
    out.print(tiers)
    for one in receipt.candidates:
        head = Text(" in  " if one.included else "out  ", style="green" if one.included else "dim")
        head.append(f"{one.tier}  {one.id}  {one.tokens} tokens", style="default")
        if one.tier == "recalled":
            head.append(f"  score {one.score:.2f}", style="dim")
        if one.similarity:
            head.append(f"  cosine {one.similarity:.2f}", style="dim")
        out.print(head)
        out.print(Text(f"     {calm(one.reason)}: {' '.join(calm(one.text).split())}", style="dim"), soft_wrap=True)
