"""What export, import, backup and restore say for a person's eyes."""

from __future__ import annotations

from holdfast.answers import ImportAnswer
from holdfast.cli.show import calm, console, counted
from holdfast.upkeep.reports import BackedUp, Exported, Restored

__all__ = ["show_backed_up", "show_exported", "show_imported", "show_restored"]


def show_exported(made: Exported, to_stderr: bool = False) -> None:
    out = console()
    out.stderr = to_stderr
    out.print(
        f"exported {calm(made.namespace)}: {counted(made.turns, 'turn')} and {counted(made.acts, 'act')}, "
        f"{_size(made.size_bytes)}, {made.seconds:.1f} s"
    )


def show_imported(made: ImportAnswer) -> None:
    out = console()
    origin = "" if made.exported_from == made.namespace else f" from {calm(made.exported_from)}"
    out.print(
        f"imported{origin} into {calm(made.namespace)}: {counted(made.turns, 'turn')} and {counted(made.acts, 'act')}, "
        f"{made.known:,} known before, {made.seconds:.1f} s"
    )
    if made.left_out:
        out.print(f"left out {counted(made.left_out, 'act')} that mean nothing in a log that held something before")
    if made.erased:
        out.print(f"{counted(made.erased, 'line')} of what was erased here did not come back")
    if made.degraded:
        out.print(f"kept, but not yet found by meaning: {calm(made.degraded)}")


def show_backed_up(made: BackedUp) -> None:
    console().print(f"{calm(made.path)}: {_held(made)}, checked, {made.seconds:.1f} s")


def show_restored(made: Restored) -> None:
    out = console()
    out.print(f"{calm(made.store)}: {_held(made)}, checked, {made.seconds:.1f} s")
    if made.kept_aside is not None:
        out.print(f"what was there is kept as {calm(made.kept_aside)}")


def _held(made: BackedUp | Restored) -> str:
    return f"{counted(made.turns, 'turn')} of {counted(made.namespaces, 'namespace')}, {_size(made.size_bytes)}"


def _size(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
