"""Themes for a person's eyes."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from holdfast.cli.show import calm, console, print_indented, when
from holdfast.insight import Theme, Themes

__all__ = ["show_themes"]

_EXAMPLE_LINES = 2


def show_themes(themes: Themes, full: bool = False) -> None:
    out = console()
    if not themes:
        out.print("No theme: too little was said in this time, or every turn is about something else.")
    if themes.digest is not None:
        print_indented(out, Text(calm(themes.digest)), hang=0)
        out.print()
    for number, theme in enumerate(themes, 1):
        _print_theme(out, number, theme, full)
    read = next((stage for stage in themes.receipt.stages if stage.name == "read"), None)
    if themes and read is not None:
        out.print(Text(f"of {read.count:,} turns, {themes.receipt.reason}", style="dim"))
    if themes.receipt.degraded is not None:
        out.print(Text(calm(themes.receipt.degraded), style="yellow"))


def _print_theme(out: Console, number: int, theme: Theme, full: bool) -> None:
    head = Text(f"{number:>2}  {calm(theme.title or theme.label)}", style="bold")
    span = f"{when(theme.first)} – {when(theme.last)}"
    out.print(head)
    words = f"{calm(theme.label)} · " if theme.title else ""
    sessions = "1 session" if theme.sessions == 1 else f"{theme.sessions:,} sessions"
    print_indented(out, Text(f"{words}{theme.turns:,} turns in {sessions} · {span}", style="dim"))
    if theme.summary:
        print_indented(out, Text(calm(theme.summary)))
    for turn in theme.examples:
        line = Text(f"{turn.role.value}: ", style="dim").append(" ".join(calm(turn.text).split()), style="not dim")
        print_indented(out, line, most=None if full else _EXAMPLE_LINES, first="  • ")
