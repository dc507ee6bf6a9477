"""Answers for a person's eyes. Stored text is data here too: it is shown, never obeyed by the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.model import Decision, Exchange, Hit, Hits, Receipt, Record, Status, Turn, Why
from holdfast.results import ActiveView, Compaction, Context, Theme, Themes

if TYPE_CHECKING:
    from holdfast.results import IngestAnswer, RebuildAnswer

_INDENT = 4
_SHORT_LINES = 3
_SHORT_CHARS = 4000  # more than three lines of any terminal: a 10 MB turn is not wrapped to show its beginning
_SEARCHED_CHARS = 20_000
_WITHOUT_SPACES = "\u2e80"  # from here on Unicode holds CJK, whose terms are pieces of words and shown as they are
_TELLING = 3  # letters a word must have in common with its stem to be shown for it
# Escape sequences, other controls and characters that turn the direction of a line; tab and newline may stay.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STYLES = {"user": "bold green", "assistant": "cyan", "tool": "yellow", "system": "magenta"}


def console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def calm(text: str) -> str:
    """The text with every character a terminal would obey made visible (ESC as ␛)."""
    return _OBEYED.sub(lambda found: chr(0x2400 + ord(found[0])) if ord(found[0]) < 0x20 else "\ufffd", text)


def when(at: datetime) -> str:
    return f"{at:%a} {at.day} {at:%b %Y %H:%M}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- hits


def show_hits(hits: Hits, full: bool = False) -> None:
    out = console()
    if any(stage.name == "shelves" and not stage.count for stage in hits.receipt.stages):
        out.print("Nothing found: this memory is empty. Is it the namespace that was meant?")
    elif not hits:
        out.print("Nothing found: no word in common, and nothing close enough in meaning.")
    for rank, hit in enumerate(hits, 1):
        print_hit(out, rank, hit, full)


def print_hit(out: Console, rank: int, hit: Hit, full: bool = False, with_id: bool = True) -> None:
    head = Text(f"{rank:>2}  ", style="bold")
    head.append(when(hit.at), style="not bold")
    head.append(_said_by(hit))
    if with_id:
        head.append(f"  {hit.id}", style="dim not bold")
    out.print(head)
    _print_body(out, hit.text, full)
    print_indented(out, Text(_reason(hit), style="dim italic"))


def _said_by(hit: Hit) -> Text:
    who = hit.role.value if hit.role is not None else hit.kind.value
    line = Text(f"  {who}", style=_STYLES.get(who, "bold blue"))
    if hit.session is not None:
        line.append(f"  {calm(hit.session)}", style="not bold default")
    return line


def _reason(hit: Hit) -> str:
    words = [word for word in hit.words if not any(word != other and word in other for other in hit.words)]
    shared = "shares " + ", ".join(_as_written(word, hit.text) for word in words) if words else "shares no word"
    meaning = f"cosine {hit.semantic:.2f}" if hit.semantic else "meaning silent"
    return f"{shared} · {meaning} · score {hit.score:.2f}"


def _as_written(stem: str, text: str) -> str:
    """The word of the text that this stem stands for; the stem itself where it is written otherwise."""
    if stem >= _WITHOUT_SPACES:
        return calm(stem)
    found = re.search(rf"\b{re.escape(stem[:-1])}\w*", text[:_SEARCHED_CHARS], re.IGNORECASE)
    return calm(found[0] if found and found[0].lower().startswith(stem[:_TELLING]) else stem)


def _print_body(out: Console, text: str, full: bool) -> None:
    if full:
        print_indented(out, Text(calm(text)))
    else:
        print_indented(out, Text(" ".join(calm(text[:_SHORT_CHARS]).split())), most=_SHORT_LINES)


def print_indented(out: Console, text: Text, most: int | None = None, hang: int = _INDENT, first: str = "") -> None:
    """Wrapped to the width, behind an indent; `first` stands in the indent of the first line."""
    width = max(20, out.width - hang)
    lines = text.wrap(out, width, tab_size=4)
    for number, line in enumerate(lines[:most]):
        line.rstrip()
        if number + 1 == most and len(lines) > most:
            line.truncate(width - 2)
            line.right_crop(len(line) - (line.plain.rfind(" ", width // 2) + 1 or len(line)))
            line.rstrip()
            line.append(" …")
        out.print(Text(first.ljust(hang) if number == 0 else " " * hang) + line, soft_wrap=True)


def show_receipt(receipt: Receipt) -> None:
    out = console()
    table = Table(title=f"{receipt.verb}: {receipt.ms:.1f} ms", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("stage")
    table.add_column("out", justify="right")
    table.add_column("ms", justify="right")
    table.add_column("note", style="dim", overflow="fold")
    for stage in receipt.stages:
        table.add_row(stage.name, f"{stage.count:,}", f"{stage.ms:.2f}", Text(calm(stage.note)))
    out.print()
    out.print(table)
    out.print(Text(calm(receipt.reason), style="dim"))
    if receipt.degraded:
        out.print(Text(f"degraded: {calm(receipt.degraded)}", style="bold red"))


# --- turns and records


def show_recent(found: Sequence[Turn] | Sequence[Exchange] | Sequence[Record], full: bool) -> None:
    out = console()
    if not found:
        out.print("Nothing here.")
    for one in found:
        match one:
            case Turn():
                _print_turn(out, one, full)
            case Record():
                _print_record(out, one, full)
            case Exchange(question, answer):
                _print_turn(out, question, full)
                if answer is not None:
                    _print_turn(out, answer, full)
                out.print()


def show_thread(session: str, turns: Sequence[Turn]) -> None:
    out = console()
    if not turns:
        out.print(f"There is no session {calm(session)!r} here.")
        return
    out.print(Text(f"{calm(session)}: {counted(len(turns), 'turn')}", style="bold"))
    for turn in turns:
        _print_turn(out, turn, full=True, with_session=False)


def print_noun(out: Console, noun: Turn | Record, full: bool) -> None:
    if isinstance(noun, Turn):
        _print_turn(out, noun, full, with_session=False)
    else:
        _print_record(out, noun, full)


def _print_turn(out: Console, turn: Turn, full: bool, with_session: bool = True) -> None:
    head = Text(when(turn.at))
    head.append(f"  {turn.role.value}", style=_STYLES[turn.role.value])
    if with_session:
        head.append(f"  {calm(turn.session)}")
    head.append(f"  {turn.id}", style="dim")
    out.print(head)
    _print_body(out, turn.text, full)


def show_record(record: Record) -> None:
    out = console()
    out.print("Remembered:")
    _print_record(out, record, full=True)


def _print_record(out: Console, record: Record, full: bool) -> None:
    head = Text(when(record.at))
    head.append(f"  {record.kind.value}", style="bold blue")
    head.append(f"  {record.provenance.value}, confidence {record.confidence:.2f}")
    if record.superseded_by is not None:
        head.append(f"  replaced by {record.superseded_by}", style="yellow")
    head.append(f"  {record.id}", style="dim")
    out.print(head)
    _print_body(out, record.text, full)


def show_forgotten(noun_id: str, decision: Decision) -> None:
    out = console()
    out.print(f"{calm(noun_id)} {decision.what}: {decision.reason}")
    if decision.what == "forgotten":
        out.print(Text(f"bring it back with: holdfast forget {calm(noun_id)} --undo", style="dim"))


def show_why(why: Why) -> None:
    out = console()
    head = Text(f"{why.kind.value} {why.id}", style="bold")
    if why.session is not None:
        head.append(f"  {calm(why.session)}", style="not bold")
    out.print(head)
    _print_body(out, why.text, full=False)
    for decision in why.decisions:
        line = Text(decision.what, style="bold")
        line.append(f": {calm(decision.reason)}", style="not bold")
        details = ", ".join(_detail(name, value) for name, value in decision.details.items())
        if decision.at is not None:
            details = f"{when(decision.at)}; {details}" if details else when(decision.at)
        if details:
            line.append(f" ({details})", style="dim not bold")
        print_indented(out, line, first="  • ")
    for record in why.records:
        _print_record(out, record, full=False)
    for turn in why.turns:
        _print_turn(out, turn, full=False)


def _detail(name: str, value: object) -> str:
    if isinstance(value, Mapping):  # the record a candidate was compared with: its texts stand in the reason already
        return f"{name} with {calm(str(value.get('with')))}, cosine {value.get('cosine'):.2f}"
    return f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {calm(str(value))}"


# --- figures


def show_ingest(answer: IngestAnswer) -> None:
    out = console()
    rest = [f"{answer.known:,} known already"]
    if answer.heartbeats:
        rest.append(f"{answer.heartbeats:,} heartbeats left out")
    if answer.skipped:
        rest.append(f"{answer.skipped:,} bad messages left out")
    sessions = counted(answer.sessions, "session")
    out.print(f"{counted(answer.added, 'turn')} added, {', '.join(rest)}; {sessions}, {answer.seconds:.1f} s")
    if answer.degraded:
        out.print(Text(f"degraded: {calm(answer.degraded)}", style="bold red"))


def show_rebuild(answer: RebuildAnswer) -> None:
    console().print(
        f"rebuilt {calm(answer.namespace)}: {counted(answer.turns, 'turn')} and {counted(answer.records, 'record')} "
        f"from the log, {answer.seconds:.1f} s"
    )


def show_status(status: Status, problems: Sequence[str] | None) -> None:
    rows = {
        "namespace": calm(status.namespace),
        "turns": f"{status.turns:,} in {counted(status.sessions, 'session')}",
        "records": f"{status.records:,}"
        + (f", of them {counted(status.summaries, 'digest')}" if status.summaries else "")
        + (f", {counted(status.guidance, 'rule')} kept word for word" if status.guidance else ""),
        "forgotten": f"{status.hidden:,}",
        "embedder": status.embedder + (f", {status.behind:,} to go" if status.behind else ""),
        "store": f"{calm(status.store)} ({status.engine}, schema {status.schema}, {status.size_bytes / 1e6:.1f} MB)",
        "version": status.version,
    }
    if status.degraded:
        rows["degraded"] = calm(status.degraded)
    if problems is not None:
        rows["integrity"] = "; ".join(calm(problem) for problem in problems) or "ok"
    _print_rows(rows)


def show_figures(figures: Mapping[str, object]) -> None:
    _print_rows({name: _figure(value) for name, value in figures.items()})


def _figure(value: object) -> str:
    if isinstance(value, Mapping):
        nested = any(isinstance(inner, Mapping) for inner in value.values())
        parts = [f"{calm(str(name))}: {_figure(inner)}" for name, inner in value.items()]
        return "\n".join(parts) if nested else ", ".join(parts)
    if isinstance(value, list | tuple):
        return "\n".join(_figure(inner) for inner in value) or "none"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return calm(str(value))


def _print_rows(rows: Mapping[str, str]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    console().print(table)


# --- Compaction for a person's eyes.


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


def show_active(view: ActiveView, full: bool) -> None:
    out = console()
    held = ((view.summaries, "digest"), (view.guidance, "rule"), (view.turns, "turn"))
    counts = ", ".join(counted(len(nouns), noun) for nouns, noun in held)
    out.print(Text(f"{calm(view.session)}: {counts}, {view.tokens:,} tokens", style="bold"))
    for record in (*view.summaries, *view.guidance):
        print_noun(out, record, full)
    for turn in view.turns:
        print_noun(out, turn, full)


# --- A context for a person's eyes: the block as a model gets it, and every candidate with its reason.


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


# --- Themes for a person's eyes.


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
