"""What the janitor and the doctor say for a person's eyes."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from holdfast.cli.show import calm, console
from holdfast.upkeep.memo import Diagnosis, Finding
from holdfast.upkeep.reports import Tended, Tidied

__all__ = ["show_diagnosis", "show_tidied"]

_SHOWN = 20
_SHOWN_CHARS = 100
_SAID = {
    "done before": "this week's run ({run}) was done before; there is one a week",
    "nothing to do": "nothing is old enough, or all of it was found",
    "undone": "{run} is taken back: every record is as it was",
    "undone before": "{run} was taken back before",
}


def show_tidied(made: Tidied) -> None:
    out = console()
    if made.did in _SAID:
        out.print(_SAID[made.did].format(run=calm(made.run)))
    else:
        would = "would be " if made.did == "dry run" else ""
        out.print(
            f"{made.run}: {made.demoted:,} {would}demoted, {made.culled:,} {would}culled, {made.seconds:.1f} s"
            + ("" if would else f"; holdfast janitor --undo {made.run} takes it back")
        )
    for one in made.records[:_SHOWN]:
        out.print(f"  {calm(one.id)}  {_change(one)}  {calm(_short(one.text))}")
        out.print(f"    {calm(one.why)}", style="dim")
    if len(made.records) > _SHOWN:
        out.print(f"  … and {len(made.records) - _SHOWN:,} more (--json lists them all)")
    for reason, count in made.spared.items():
        out.print(f"  left alone, {calm(reason)}: {count:,}")


def _change(one: Tended) -> str:
    before = f"{one.provenance.value} {one.confidence:g}"
    if one.new_provenance is None:
        return f"{before} → hidden"
    return f"{before} → {one.new_provenance.value} {one.new_confidence:g}"


def show_diagnosis(found: Diagnosis) -> None:
    out = console()
    whose = "" if found.namespace is None else f", namespace {calm(found.namespace)}"
    many = f"{found.memories:,} {'memory' if found.memories == 1 else 'memories'}"
    out.print(f"{calm(found.source)} ({found.system}{whose}): {many}, {found.seconds:.1f} s")
    table = Table(box=None, pad_edge=False)
    for name in ("", "looked for", "found", "of", "share", "limit"):
        table.add_column(name, justify="left" if name in ("", "looked for") else "right")
    for one in found.findings:
        mark = Text("✗", style="red") if one.over else Text("✓", style="green")
        table.add_row(mark, one.check, f"{one.count:,}", f"{one.of:,}", f"{one.rate:.1%}", f"{one.limit:.0%}")
    out.print(table)
    for one in found.findings:
        if one.count:
            _show_examples(one)
    if found.fixed:
        out.print(f"fixed: {', '.join(found.fixed)}")
    bad = [one.check for one in found.findings if one.over]
    out.print(
        "healthy" if found.healthy else f"not healthy: {', '.join(bad)}", style="green" if found.healthy else "red"
    )


def _show_examples(found: Finding) -> None:
    out = console()
    out.print(f"\n{found.check}: {found.advice}")
    for one in found.examples:
        said = f"  {calm(_short(one.text))}" if one.text else ""
        out.print(f"  {calm(one.id)}{said}")
        out.print(f"    {calm(one.why)}", style="dim")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
