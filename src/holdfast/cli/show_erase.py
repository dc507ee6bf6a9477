"""What an erase says for a person's eyes."""

from __future__ import annotations

from rich.console import Console

from holdfast.cli.show import calm, console, counted
from holdfast.upkeep.reports import Erased, Proof

__all__ = ["show_erased"]


def show_erased(made: Erased) -> None:
    out = console()
    out.print(
        f"erased {counted(made.turns, 'turn')}, {counted(made.records, 'record')}, {counted(made.acts, 'act')} and "
        f"{counted(made.digests, 'digest')} ({made.remade} made anew), {made.seconds:.1f} s"
    )
    if made.still_said:
        turns = ", ".join(made.still_said)
        out.print(f"the turns it was read out of stay, and still say it: {calm(turns)}")
    for path in made.copies:
        out.print(f"not touched: {calm(path)}")
    if made.pending:
        out.print(f"bytes of it may still lie in the files: {calm(made.pending)}")
    if made.degraded:
        out.print(f"what is left is not yet derived anew: {calm(made.degraded)}")
    if made.proof is not None:
        _show_proof(out, made.proof)


def _show_proof(out: Console, proof: Proof) -> None:
    out.print(
        f"looked for {counted(proof.strings, 'string')}, {counted(proof.vectors, 'vector')} and "
        f"{counted(proof.terms, 'term')} in {proof.bytes_read:,} bytes"
    )
    out.print(
        f"left out: {proof.not_distinctive:,} that what remains or the program has too, {proof.too_short:,} too short"
    )
    for file in proof.files:
        out.print(f"  {calm(file.path)}: {file.size_bytes:,} bytes, {file.found:,} found")
    for copy in proof.copies:
        out.print(f"  {calm(copy.path)} (a copy, not touched): {copy.found:,} found")
    out.print("found: nothing" if not proof.found else f"found: {proof.found:,}; see the files above")
