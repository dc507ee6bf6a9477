"""Importing a file or folder: detect the format of each file by its content, read it, and store what is new.

Every message has a key of its own, so an import that was interrupted is run again, and stores the rest.
"""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from holdfast.errors import InputError
from holdfast.importers import agents, chats
from holdfast.importers.source import ChatImport, ImportedChat, ImportedNote, Item, Message, Reader, iso, read_objects
from holdfast.memory import Memory
from holdfast.model import Origin
from holdfast.settings import tuned
from holdfast.upkeep.export import FORMAT
from holdfast.upkeep.findings import DoctorSizes
from holdfast.upkeep.foreign import read_foreign

Progress = Callable[[int, int], None]

HOLDFAST = "holdfast"
_HEAD = 256 * 1024
_BATCH, _BATCH_CHARS = 500, 4_000_000  # messages that are stored at once, and their characters
_MOST_REASONS = 20
_KNOWN, _KNOWN_TOKENS = 8, 800
_IN_ZIP = re.compile(r"(?:^|/)(?:conversations[^/]*|memories)\.json$")
_SKIPPED = {".git", "node_modules", ".venv", "__pycache__"}
_MARKS = (
    ("chatgpt", rb'"mapping"\s*:\s*\{'),
    ("claude-ai", rb'"chat_messages"\s*:\s*\[|"conversations_memory"\s*:'),
    ("gemini", rb'"projectHash"\s*:'),
    ("codex", rb'"type"\s*:\s*"session_meta"'),
    ("claude-code", rb'"(?:sessionId|leafUuid)"\s*:'),
    ("openclaw", rb'\A\s*\{"type"\s*:\s*"session"'),
    ("langgraph", rb'"namespace"\s*:\s*\[.*"value"\s*:|"value"\s*:.*"namespace"\s*:\s*\['),
    ("openai", rb'"messages"\s*:\s*\['),
    ("memories", rb'"(?:memory|results|memories|entityType|relationType)"\s*:'),
)
"""Field names by which a JSON file is known, in the order in which they are looked for."""


def _read_langgraph(objects: Iterator[Mapping[str, object]], name: str) -> Iterator[Item]:
    """Read items of a LangGraph store, as JSON of namespace, key and value."""
    for one in objects:
        value, place = one.get("value"), one.get("namespace")
        known = value if isinstance(value, Mapping) else {"text": value}
        text = next(
            (known[field] for field in ("text", "memory", "content", "data") if isinstance(known.get(field), str)), None
        )
        said = json.dumps(value, ensure_ascii=False) if text is None else str(text)
        path = "/".join(map(str, place)) if isinstance(place, list) else str(place)
        yield ImportedNote(f"langgraph:{path}/{one.get('key')}:{chats.digest(said)}", said,
                           iso(one.get("updated_at")) or iso(one.get("created_at")))  # fmt: skip


_OF_OBJECTS: Mapping[str, Reader] = {
    "chatgpt": chats.read_chatgpt, "claude-ai": chats.read_claude_ai, "openai": chats.read_openai,
    "codex": agents.read_codex, "gemini": agents.read_gemini, "langgraph": _read_langgraph,
}  # fmt: skip
_OF_FILES: Mapping[str, Callable[[IO[bytes], str], Iterator[Item]]] = {
    "claude-code": agents.read_claude_code, "openclaw": agents.read_openclaw,
}  # fmt: skip
FORMATS = (*_OF_OBJECTS, *_OF_FILES, "memories", "notes", "chat")


def detect(path: Path) -> str | None:
    """Return the format of a file by its content, or None: `holdfast` for an export of ours."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if head.startswith(b"PK\x03\x04"):
        with _unzipped(path) as members:
            return _detect(members[0][1].read(_HEAD), members[0][0])
    return _detect(head, path.name)


def _detect(head: bytes, name: str) -> str | None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if FORMAT.encode() in start[:100]:
        return HOLDFAST
    if start.startswith(b"SQLite format 3\x00"):
        return "memories"
    if not start.startswith((b"{", b"[")):
        lines = start.decode("utf-8", "replace").splitlines()
        spoken = {said[0] for line in lines if (said := chats.speaker_of(line))}
        if {"user", "assistant"} <= spoken:
            return "chat"
        return "notes" if name.lower().endswith((".md", ".mdc")) else None
    if re.match(rb'\s*\{[^{}\[\]]*"role"\s*:', start[:2000]):  # messages of ours: `ingest` reads them
        return None
    return next((name for name, mark in _MARKS if re.search(mark, start, re.DOTALL)), None)


def what_is_known(memory: Memory) -> tuple[str, ...]:
    """Return at most eight statements about the user, the surest first, as a person reads them."""
    return tuple(" ".join(record.text.split()) for record in memory.standing(_KNOWN_TOKENS).records)[:_KNOWN]


@contextmanager
def _unzipped(path: Path) -> Iterator[list[tuple[str, IO[bytes], int]]]:
    """Yield the files of an export in a zip with their sizes; nothing is unpacked to disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [one for one in archive.infolist() if _IN_ZIP.search(one.filename)]
            if not names:
                raise InputError(f"{path} holds no conversations.json; it is no export of ChatGPT or Claude.ai")
            names.sort(key=lambda one: ("memories" in one.filename, one.filename))
            yield [(one.filename, archive.open(one), one.file_size) for one in names]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(f"{path} cannot be unpacked: {error}") from error


@dataclass
class _Tally:
    done: ChatImport
    highest: int
    """Place in the log of the last turn that was new."""
    seen: set[str] = field(default_factory=set)

    def add(self, **more: int) -> None:
        self.done = replace(self.done, **{name: getattr(self.done, name) + count for name, count in more.items()})

    def skip(self, reason: str) -> None:
        self.add(skipped=1)
        if len(self.done.reasons) < _MOST_REASONS:
            self.done = replace(self.done, reasons=(*self.done.reasons, reason))


def import_chats(memory: Memory, path: Path, form: str | None = None, progress: Progress | None = None) -> ChatImport:
    """Import a file, a zip or a folder of files of any known format; what is damaged is skipped and reported."""
    began = time.perf_counter()
    path = path.expanduser()
    files = _files(path)
    total = sum(file.stat().st_size for file in files)
    before = memory.status().log_end
    tally = _Tally(ChatImport(str(path), memory.namespace, ()), before)
    done = 0
    for file in files:
        report = partial(_report, progress, done, total)
        known = form or detect(file)
        if known in (None, HOLDFAST):
            if file == path:
                raise InputError(
                    f"{path} is of no known format. Messages with role and content are read by `holdfast ingest`; for "
                    f"the rest name the format with --from: {', '.join(FORMATS)}"
                )
        else:
            assert known is not None
            if known not in tally.done.formats:
                tally.done = replace(tally.done, formats=(*tally.done.formats, known))
            try:
                for item in _items(file, known, tuned(memory.settings, DoctorSizes), report):
                    _store(memory, item, tally)
            except InputError as error:
                tally.skip(f"{file}: {error}")
        done += file.stat().st_size
        if progress is not None:
            progress(done, total)
    made, total_notes = tally.done, tally.done.notes
    notes = min(max(memory.status().log_end - before - made.turns, 0), total_notes)  # acts are lines of the log
    return replace(
        made, chats=len(tally.seen), notes=notes, known=made.known + total_notes - notes,
        seconds=round(time.perf_counter() - began, 3),
    )  # fmt: skip


def _report(progress: Progress | None, done: int, total: int, place: int) -> None:
    if progress is not None:
        progress(min(done + place, total), total)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"there is nothing at {path}")
    if path.is_file():
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        wanted = sorted(name for name in names if name.lower().endswith((".json", ".jsonl", ".md", ".db", ".zip")))
        found += [Path(folder) / name for name in wanted]
    return [file for file in found if file.is_file() and file.stat().st_size]


def _items(file: Path, form: str, settings: DoctorSizes, report: Callable[[int], None]) -> Iterator[Item]:
    if form in ("memories", "notes"):
        for one in read_foreign(file, settings).items:
            ident = file.name if form == "notes" else one.id
            at = None if one.at is None else one.at.isoformat()
            yield ImportedNote(f"{form}:{ident}:{chats.digest(one.text)}", one.text, at)
        return
    with file.open("rb") as source:
        zipped = source.read(4) == b"PK\x03\x04"
        source.seek(0)
        if form in _OF_FILES:
            yield from _watched(_OF_FILES[form](source, file.stem), source, report)
        elif form == "chat":
            at = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat()
            yield from chats.read_text_chat(source, file.stem, at)
        elif zipped:
            with _unzipped(file) as members:
                for name, member, _ in members:
                    yield from _watched(_OF_OBJECTS[form](read_objects(member), Path(name).stem), source, report)
        else:
            yield from _watched(_OF_OBJECTS[form](read_objects(source), file.stem), source, report)


def _watched(items: Iterator[Item], source: IO[bytes], report: Callable[[int], None]) -> Iterator[Item]:
    for item in items:
        yield item
        report(0 if source.closed else source.tell())


# --- storing


def _store(memory: Memory, item: Item, tally: _Tally) -> None:
    if isinstance(item, ImportedNote):
        if text := _repaired(item.text).strip():
            memory.remember(text, key=item.key, origin=Origin.IMPORTED.value, at=item.at)
            tally.add(notes=1)
        return
    batch: list[Message] = []
    chars = 0
    for message in item.messages:
        batch.append(message)
        chars += len(str(message["content"]))
        if len(batch) >= _BATCH or chars >= _BATCH_CHARS:
            _store_batch(memory, item, batch, tally)
            batch, chars = [], 0
    if batch:
        _store_batch(memory, item, batch, tally)


def _store_batch(memory: Memory, chat: ImportedChat, batch: list[Message], tally: _Tally) -> None:
    """Store messages; if one is invalid, it is repaired or left out, and the others are stored."""
    try:
        turns = memory.ingest_many(batch, session=chat.session)
    except InputError as error:
        if len(batch) > 1:
            for one in batch:
                _store_batch(memory, chat, [one], tally)
            return
        repaired = json.loads(_repaired(json.dumps(batch[0], ensure_ascii=False)))
        if repaired == batch[0]:
            tally.skip(f"{chat.session}, message {batch[0].get('key')}: {error}")
            return
        _store_batch(memory, chat, [repaired], tally)
        return
    tally.seen.add(chat.session)
    new = len({turn.seq for turn in turns if turn.seq > tally.highest})
    tally.highest = max([tally.highest, *(turn.seq for turn in turns)])
    tally.add(turns=new, known=len(turns) - new)


def _repaired(text: str) -> str:
    """Return a text without lone surrogates, which exports hold where they cut an emoji in two."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
