"""Answers as text for a terminal. Stored text is data here too: it is shown, and the terminal never obeys it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.model import Decision, Exchange, Hit, Receipt, Record, SearchAnswer, Status, Turn, Why
from holdfast.results import RecentAnswer, RecentExchanges, RecentTurns

if TYPE_CHECKING:
    from holdfast.context.profile import ProfilePage
    from holdfast.insight.lookup import RecordPage
    from holdfast.results import (
        ActiveView,
        Compaction,
        ContextAnswer,
        IngestAnswer,
        StandingSection,
        StatusAnswer,
        Theme,
        ThemesAnswer,
        ThreadAnswer,
    )

_INDENT = 4
_SHORT_LINES = 3
_SHORT_CHARS = 4000  # more than three lines of any terminal: a 10 MB turn is not wrapped to show its beginning
_SEARCHED_CHARS = 20_000
_FIRST_CJK = "\u2e80"  # from here on terms are pieces of words, because CJK has no spaces
_STEM_LETTERS = 3  # letters that a word must share with its stem to be shown for it
_EXAMPLE_LINES = 2
_MANY_COLUMNS = 10  # these fit into 80 characters with one space between them
# Escape sequences, other controls and characters that change the direction of text; tab and newline are allowed.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STYLES = {"user": "bold green", "assistant": "cyan", "tool": "yellow", "system": "magenta"}


def console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """Replace every character that a terminal would obey by a visible one (ESC by ␛)."""
    return _CONTROLS.sub(lambda found: chr(0x2400 + ord(found[0])) if ord(found[0]) < 0x20 else "\ufffd", text)


def format_time(at: datetime) -> str:
    """Format a time in the zone of the reader's computer, with the name of the zone."""
    try:
        local = at.astimezone()
    except (OverflowError, ValueError):  # the first or last day of the calendar
        local = at
    return f"{local:%a} {local.day} {local:%b %Y %H:%M %Z}"


def plural(number: int, noun: str, several: str = "") -> str:
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def make_table(*columns: str, left: int = 1, title: str | None = None) -> Table:
    """Return a table without lines whose first `left` columns hold text and the others numbers."""
    space = 2 if len(columns) < _MANY_COLUMNS else 1
    table = Table(title=title, title_justify="left", box=None, padding=(0, space, 0, 0))
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < left else "right")
    return table


def print_indented(out: Console, text: Text, most: int | None = None, hang: int = _INDENT, first: str = "") -> None:
    """Print at most `most` wrapped lines behind an indent, with `first` in the indent of the first line."""
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


def print_rows(rows: Mapping[str, str]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    console().print(table)


# --- search


def show_hits(answer: SearchAnswer, full: bool, explain: bool, status: Status | None = None) -> None:
    """Print results; `status` is that of the memory if there are none."""
    out = console()
    if status is not None and not status.turns and not status.records:
        out.print(f"No results: namespace {printable(status.namespace)!r} is empty. Did you mean another namespace?")
    elif not answer.hits:
        out.print("No results: nothing shares a word with the question or is close to it in meaning.")
    for rank, hit in enumerate(answer.hits, 1):
        print_hit(out, rank, hit, full)
    if explain:
        _print_receipt(out, answer.receipt)
    if status is not None and status.behind:  # this command has started the work, and the next one continues it
        typer.echo(
            f"holdfast: {status.behind:,} are not embedded yet; search again later, or see holdfast status", err=True
        )


def print_hit(out: Console, rank: int, hit: Hit, full: bool = False, with_id: bool = True) -> None:
    who = hit.role.value if hit.role is not None else hit.kind.value
    head = Text(f"{rank:>2}  ", style="bold")
    head.append(format_time(hit.at), style="not bold")
    head.append(Text(f"  {who}", style=_STYLES.get(who, "bold blue")))
    if hit.session is not None:
        head.append(f"  {printable(hit.session)}", style="not bold default")
    if with_id:
        head.append(f"  {hit.id}", style="dim not bold")
    out.print(head)
    _print_text(out, hit.text, full)
    print_indented(out, Text(_reason(hit), style="dim italic"))


def _reason(hit: Hit) -> str:
    words = [word for word in hit.words if not any(word != other and word in other for other in hit.words)]
    shared = "shares " + ", ".join(_as_written(word, hit.text) for word in words) if words else "shares no word"
    meaning = f"cosine {hit.semantic:.2f}" if hit.semantic else "no cosine"
    return f"{shared} · {meaning} · score {hit.score:.2f}"


def _as_written(stem: str, text: str) -> str:
    """Return the word of the text that has this stem, or the stem itself if there is none."""
    if stem >= _FIRST_CJK:
        return printable(stem)
    found = re.search(rf"\b{re.escape(stem[:-1])}\w*", text[:_SEARCHED_CHARS], re.IGNORECASE)
    return printable(found[0] if found and found[0].lower().startswith(stem[:_STEM_LETTERS]) else stem)


def _print_text(out: Console, text: str, full: bool) -> None:
    if full:
        print_indented(out, Text(printable(text)))
    else:
        print_indented(out, Text(" ".join(printable(text[:_SHORT_CHARS]).split())), most=_SHORT_LINES)


def _print_receipt(out: Console, receipt: Receipt) -> None:
    table = make_table("stage", "out", "ms", title=f"{receipt.verb}: {receipt.ms:.1f} ms")
    table.add_column("note", style="dim", overflow="fold")
    for stage in receipt.stages:
        table.add_row(stage.name, f"{stage.count:,}", f"{stage.ms:.2f}", Text(printable(stage.note)))
    out.print()
    out.print(table)
    out.print(Text(printable(receipt.reason), style="dim"))
    _print_degraded(out, receipt.degraded)


def _print_degraded(out: Console, reason: str | None) -> None:
    if reason:
        out.print(Text(f"degraded: {printable(reason)}", style="bold red"))


# --- turns and records


def show_recent(answer: RecentAnswer, full: bool) -> None:
    if isinstance(answer, RecentTurns):
        print_items(answer.turns, full)
    else:
        print_items(answer.exchanges if isinstance(answer, RecentExchanges) else answer.records, full)


def print_items(found: Sequence[Turn | Exchange | Record], full: bool = False) -> None:
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


def show_thread(answer: ThreadAnswer) -> None:
    out = console()
    if not answer.turns:
        out.print(f"There is no session {printable(answer.session)!r} here.")
        return
    out.print(Text(f"{printable(answer.session)}: {plural(len(answer.turns), 'turn')}", style="bold"))
    for turn in answer.turns:
        _print_turn(out, turn, full=True, with_session=False)


def _print_turn(out: Console, turn: Turn, full: bool, with_session: bool = True) -> None:
    head = Text(format_time(turn.at))
    head.append(f"  {turn.role.value}", style=_STYLES[turn.role.value])
    if with_session:
        head.append(f"  {printable(turn.session)}")
    head.append(f"  {turn.id}", style="dim")
    out.print(head)
    _print_text(out, turn.text, full)


def show_record(record: Record) -> None:
    out = console()
    out.print("Remembered:")
    _print_record(out, record, full=True)


def _print_record(out: Console, record: Record, full: bool) -> None:
    head = Text(format_time(record.at))
    head.append(f"  {record.kind.value}", style="bold blue")
    head.append(f"  {record.provenance.value} {record.confidence:.2f}")
    if record.superseded_by is not None:
        head.append(f"  replaced by {record.superseded_by}", style="yellow")
    head.append(f"  {record.id}", style="dim")
    out.print(head)
    _print_text(out, record.text, full)


def show_one(found: Turn | Record) -> None:
    print_items([found], full=True)


def show_records(page: RecordPage, full: bool) -> None:
    print_items(page.records, full)
    if page.next is not None:
        console().print(Text(f"more: add --before {printable(page.next)}", style="dim"))


def show_profile(page: ProfilePage, file: str | None, changed: bool | None) -> None:
    if file is not None:
        state = "has the new profile" if changed else "is up to date"
        console().print(f"{printable(file)} {state}: {plural(len(page.records), 'line')}, {page.tokens} tokens")
    elif not page.text:
        console().print("Nothing is known yet: no record describes the owner of this memory.")
    else:
        typer.echo(printable(page.text), nl=False)


def show_standing(section: StandingSection) -> None:
    typer.echo(section.text or f"holdfast: {section.receipt.reason}", nl=not section.text, err=not section.text)


def show_forgotten(decision: Decision, noun_id: str) -> None:
    out = console()
    out.print(f"{printable(noun_id)} {decision.what}: {decision.reason}")
    if decision.what == "forgotten":
        out.print(Text(f"to undo: holdfast forget {printable(noun_id)} --undo", style="dim"))


def show_why(why: Why) -> None:
    out = console()
    head = Text(f"{why.kind.value} {why.id}", style="bold")
    if why.session is not None:
        head.append(f"  {printable(why.session)}", style="not bold")
    out.print(head)
    _print_text(out, why.text, full=False)
    for decision in why.decisions:
        print_decision(out, decision, with_details=True)
    for record in why.records:
        _print_record(out, record, full=False)
    for turn in why.turns:
        _print_turn(out, turn, full=False)


def print_decision(out: Console, decision: Decision, with_details: bool = False) -> None:
    line = Text(decision.what, style="bold")
    line.append(f": {printable(decision.reason)}", style="not bold")
    if with_details:
        details = ", ".join(_detail(name, value) for name, value in decision.details.items())
        parts = [*([format_time(decision.at)] if decision.at is not None else []), *([details] if details else [])]
        if parts:
            line.append(f" ({'; '.join(parts)})", style="dim not bold")
    print_indented(out, line, first="  • ")


def _detail(name: str, value: object) -> str:
    if isinstance(value, Mapping):  # the record that a candidate was compared with; the reason quotes its text
        return f"{name} with {printable(str(value.get('with')))}, cosine {value.get('cosine'):.2f}"
    return f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {printable(str(value))}"


# --- counts


def show_ingest(answer: IngestAnswer) -> None:
    out = console()
    rest = [f"{answer.known:,} known already"]
    if answer.heartbeats:
        rest.append(f"{answer.heartbeats:,} heartbeats skipped")
    if answer.skipped:
        rest.append(f"{answer.skipped:,} invalid messages skipped")
    sessions = plural(answer.sessions, "session")
    out.print(f"{plural(answer.added, 'turn')} added, {', '.join(rest)}; {sessions}, {answer.seconds:.1f} s")
    _print_degraded(out, answer.degraded)


def show_status(status: StatusAnswer) -> None:
    rows = {
        "namespace": printable(status.namespace),
        "turns": f"{status.turns:,} in {plural(status.sessions, 'session')}",
        "records": f"{status.records:,}"
        + (f", of them {plural(status.summaries, 'digest')}" if status.summaries else "")
        + (f", {plural(status.guidance, 'rule')} kept word for word" if status.guidance else ""),
        "forgotten": f"{status.hidden:,}",
        "embedder": status.embedder + (f", {status.behind:,} to go" if status.behind else ""),
        **({"ask model": f"{status.ask_behind:,} to go" if status.ask_behind else "all read"} if status.ask else {}),
        "store": f"{printable(status.store)} ({status.engine}, schema {status.schema}, {megabytes(status.size_bytes)})",
        "version": status.version,
    }
    if status.degraded:
        rows["degraded"] = printable(status.degraded)
    if status.problems is not None:
        rows["integrity"] = "; ".join(map(printable, status.problems)) or "ok"
    print_rows(rows)


def show_figures(figures: Mapping[str, object]) -> None:
    print_rows({name: _figure(value) for name, value in figures.items()})


def _figure(value: object) -> str:
    if isinstance(value, Mapping):
        nested = any(isinstance(inner, Mapping) for inner in value.values())
        parts = [f"{printable(str(name))}: {_figure(inner)}" for name, inner in value.items()]
        return "\n".join(parts) if nested else ", ".join(parts)
    if isinstance(value, list | tuple):
        return "\n".join(_figure(inner) for inner in value) or "none"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return printable(str(value))


# --- compaction


def show_compaction(made: Compaction) -> None:
    out = console()
    out.print(Text(f"{printable(made.session)}: {made.reason}", style="bold"))
    if made.did_compact:
        saved = 1 - made.tokens_after / made.tokens_before if made.tokens_before else 0.0
        how = f"{made.summary_method}, confidence {made.mean_confidence:.2f}"
        kept = f"{plural(made.protected, 'turn')} with rules kept word for word"
        out.print(f"  {plural(len(made.summaries), 'digest')} ({how}), {kept}")
        out.print(f"  {made.tokens_before:,} tokens became {made.tokens_after:,} ({saved:.0%} less)")
    for note in made.notes:
        out.print(Text(f"  {printable(note)}", style="yellow"))
    if made.did_compact:
        out.print(Text(f"to see it: holdfast active {printable(made.session)}", style="dim"))


def show_active(view: ActiveView, full: bool) -> None:
    out = console()
    held = ((view.summaries, "digest"), (view.guidance, "rule"), (view.turns, "turn"))
    counts = ", ".join(plural(len(nouns), noun) for nouns, noun in held)
    out.print(Text(f"{printable(view.session)}: {counts}, {view.tokens:,} tokens", style="bold"))
    for record in (*view.summaries, *view.guidance):
        _print_record(out, record, full)
    for turn in view.turns:
        _print_turn(out, turn, full, with_session=False)


# --- context


def show_context(made: ContextAnswer, explain: bool) -> None:
    if made.text:
        typer.echo(made.text, nl=False)
    else:
        typer.echo(f"holdfast: {made.receipt.reason}", err=True)
    if made.degraded:
        typer.echo(f"holdfast: degraded: {' '.join(printable(made.degraded).split())}", err=True)
    if explain:
        _print_context_receipt(console(), made)


def _print_context_receipt(out: Console, made: ContextAnswer) -> None:
    receipt = made.receipt
    _print_receipt(out, receipt)
    out.print(f"{made.tokens} of {receipt.budget} tokens by {receipt.counter}, {receipt.frame_tokens} for the frame")
    tiers = make_table("tier", "candidates", "in", "tokens", "limit")
    for use in receipt.tiers:
        limit = "never cut" if use.limit is None else str(use.limit)
        tiers.add_row(use.tier, str(use.candidates), str(use.included), str(use.tokens), limit)
    out.print(tiers)
    for one in receipt.candidates:
        head = Text(" in  " if one.included else "out  ", style="green" if one.included else "dim")
        head.append(f"{one.tier}  {one.id}  {one.tokens} tokens", style="default")
        if one.tier == "recalled":
            head.append(f"  score {one.score:.2f}", style="dim")
        if one.similarity:
            head.append(f"  cosine {one.similarity:.2f}", style="dim")
        out.print(head)
        text = " ".join(printable(one.text).split())
        out.print(Text(f"     {printable(one.reason)}: {text}", style="dim"), soft_wrap=True)


# --- themes


def show_themes(found: ThemesAnswer, full: bool) -> None:
    out = console()
    if not found.themes:
        out.print("No themes: too few turns in this period, or no two of them about the same subject.")
    if found.digest is not None:
        print_indented(out, Text(printable(found.digest)), hang=0)
        out.print()
    for number, theme in enumerate(found.themes, 1):
        _print_theme(out, number, theme, full)
    read = next((stage for stage in found.receipt.stages if stage.name == "read"), None)
    if found.themes and read is not None:
        out.print(Text(f"of {read.count:,} turns, {found.receipt.reason}", style="dim"))
    if found.receipt.degraded is not None:
        out.print(Text(printable(found.receipt.degraded), style="yellow"))


def _print_theme(out: Console, number: int, theme: Theme, full: bool) -> None:
    out.print(Text(f"{number:>2}  {printable(theme.title or theme.label)}", style="bold"))
    words = f"{printable(theme.label)} · " if theme.title else ""
    span = f"{format_time(theme.first)} – {format_time(theme.last)}"
    counts = f"{theme.turns:,} turns in {plural(theme.sessions, 'session')}"
    print_indented(out, Text(f"{words}{counts} · {span}", style="dim"))
    if theme.summary:
        print_indented(out, Text(printable(theme.summary)))
    for turn in theme.examples:
        text = " ".join(printable(turn.text).split())
        line = Text(f"{turn.role.value}: ", style="dim").append(text, style="not dim")
        print_indented(out, line, most=None if full else _EXAMPLE_LINES, first="  • ")
