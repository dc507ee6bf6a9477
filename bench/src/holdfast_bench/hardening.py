"""Measure what hardening promises: secrets, imports in progress, large turns, first calls and long sessions.

    python -m holdfast_bench.hardening --json hardening.json

Run it in the root of the repository (the kinds of secrets are in tests/data). Costs are ratios inside one run, or
processor time, because the machine may be busy; what a host waits for is wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from holdfast.admit.secrets import mask
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.probe.metrics import median, percentile
from holdfast.settings import CompactSettings, ContextSettings, Settings, load_settings
from holdfast_bench.chatter import SESSION, Message, Session, chatter, questions, upto
from holdfast_bench.machine import machine

_NAMESPACE = "me"
_LATER_S = 36_000.0
_PATIENT = replace(load_settings(), context=ContextSettings(deadline_s=60.0, embedder_s=20.0))
_SHORT_SECRET = 8  # letters: a shorter value may be part of an id or a time, so the letters before it count too
_LIGHTS: list[Session] = [("s", [{"role": "user", "content": f"Harbour light {at} is green."} for at in range(200)])]
_FRESH = """
import json, os, sys, time
from holdfast import Memory
memory = Memory(sys.argv[1], "me")
rows = []
for question in json.loads(sys.argv[3]):
    rows.append(row := {})
    for verb in sys.argv[2].split():
        start = time.perf_counter()
        if verb == "search":
            memory.search(question)
        else:
            row["empty"] = not memory.context([{"role": "user", "content": question}]).text
        row[verb] = (time.perf_counter() - start) * 1000
print(json.dumps(rows), flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class HardeningSizes:
    stored: int = 1_000  # turns of the store to which others are compared
    waiting: int = 20_000
    starts: int = 8
    tool_bytes: int = 5_000_000
    contexts: int = 100
    turn_bytes: int = 20_000_000
    idle_starts: int = 20
    busy_starts: int = 100  # next to eight busy processes
    session: int = 100_000
    histories: int = 20


@dataclass(frozen=True)
class Bar:
    """One figure and the most that it may be."""

    name: str
    value: float
    most: float
    note: str

    @property
    def met(self) -> bool:
        return self.value <= self.most


def run(sizes: HardeningSizes, data: Path, folder: Path) -> Iterator[Bar]:
    """Measure every bar in `folder`; `data` has the kinds of secrets and ordinary sentences."""
    sessions = list(chatter(sizes.stored + sizes.waiting))
    old, new = upto(sessions, sizes.stored), sessions[-sizes.waiting // SESSION :]
    asked, stored = questions(old, 8), folder / "stored.db"
    with Memory(stored, _NAMESPACE) as memory:
        _ingest(memory, old)
        memory.flush()
    yield from _secrets(data, folder / "secrets.db")
    yield from _waiting(sizes, stored, folder / "waiting.db", new, asked)
    yield from _large_result(sizes, folder)
    yield from _large_turn(sizes, folder / "turn.db")
    yield from _first_calls(sizes, stored, asked)
    yield from _long_session(sizes, folder / "session.db")


def _later() -> Settings:
    """Put background work off: only the call is measured."""
    idle = (IndexSizes(gather_s=_LATER_S, gather_most_s=_LATER_S),)
    return replace(load_settings(), _tuning=idle, compact=CompactSettings(automatic=False))


def _ingest(memory: Memory, sessions: Sequence[Session]) -> None:
    for session, messages in sessions:
        memory.ingest_many(messages, session=session)


def _secrets(data: Path, store: Path) -> Iterator[Bar]:
    kinds = [json.loads(line) for line in (data / "secrets.jsonl").read_text(encoding="utf-8").splitlines()]
    plain = [json.loads(line)["text"] for line in (data / "not_secrets.jsonl").read_text(encoding="utf-8").splitlines()]
    with Memory(store, _NAMESPACE, settings=_PATIENT) as memory:
        for one in kinds:
            memory.ingest(one["text"], session=f"about {one['kind']}")
            memory.remember(f"Keep this: {one['text']}")
        memory.flush()
        shown = memory.standing(20_000).text + repr(memory.themes("1 day ago", digest=False)) + memory.profile().text
        for one in kinds:
            asked = [{"role": "user", "content": f"What did I say about {one['text'][:40]}?"}]
            made = memory.context(asked, session=f"about {one['kind']}", budget=4000)
            assert made.text, f"no context: {made.degraded}"
            shown += made.text
    clear = []
    for one in kinds:
        at, size = one["text"].index(one["secret"]), len(one["secret"])
        value = one["text"][at if size > _SHORT_SECRET else max(at - 6, 0) : at + size]
        clear += [one["kind"]] if value in shown else []
    yield Bar("secrets in clear", len(clear), 2, f"of {len(kinds)} kinds, in contexts and summaries: {clear}")
    yield Bar("false alarms", sum(bool(mask(text).found) for text in plain), 0, f"of {len(plain)} sentences")


def _fresh(store: Path, verbs: str, asked: Sequence[str]) -> list[dict[str, float]]:
    """Call the verbs for each question in a fresh process; milliseconds by verb, and whether the context was empty."""
    code = [sys.executable, "-c", _FRESH, str(store), verbs, json.dumps(list(asked))]
    return json.loads(subprocess.run(code, capture_output=True, check=True, text=True, timeout=300).stdout)  # type: ignore[no-any-return]


def _waiting(
    sizes: HardeningSizes, stored: Path, store: Path, new: Sequence[Session], asked: Sequence[str]
) -> Iterator[Bar]:
    """Compare a store into which an import has just put its turns with one that has derived all of its own."""
    with Memory(stored, _NAMESPACE) as memory:
        memory.backup(store)
    with Memory(store, _NAMESPACE, settings=_later()) as memory:
        _ingest(memory, [(f"new {name}", messages) for name, messages in new])
    times: dict[tuple[Path, str], list[float]] = {}
    empty = 0.0
    for _ in range(sizes.starts):
        for place in (stored, store):
            for number, row in enumerate(_fresh(place, "search context", asked[:4])):
                for verb in ("search", "context"):
                    times.setdefault((place, f"{'later' if number else 'first'} {verb}"), []).append(row[verb])
                empty += row["empty"] if place == store else 0
    ratios = {name: median(times[store, name]) / median(times[stored, name]) for place, name in times if place == store}
    note = ", ".join(f"{name} {part:.2f} ({median(times[store, name]):.0f} ms)" for name, part in ratios.items())
    yield Bar(f"ratio with {sizes.waiting:,} waiting", round(max(ratios.values()), 2), 3.0, f"worst of {note}")
    yield Bar("empty contexts meanwhile", empty, 0, f"of {4 * sizes.starts}, in fresh processes")


def _large_result(sizes: HardeningSizes, folder: Path) -> Iterator[Bar]:
    memories = [Memory(folder / f"{name}.db", _NAMESPACE, settings=_PATIENT) for name in ("plain", "large")]
    log = "The harbour log of the pier lights says green. "
    for number, memory in enumerate(memories):
        _ingest(memory, _LIGHTS)
        memory.ingest(log * (sizes.tool_bytes // len(log) if number else 20), role="tool", session="old")
        memory.ingest_many([{"role": "user", "content": f"Thanks {at}, ok."} for at in range(8)], "s")
        memory.flush()
    times: tuple[list[float], list[float]] = ([], [])
    shown = 0
    for at in range(-5, sizes.contexts):  # the first five load what is kept afterwards
        for number, memory in enumerate(memories):
            start = time.process_time()
            made = memory.context([{"role": "user", "content": f"Is the harbour light of pier {at} green?"}], "s")
            if at >= 0:
                times[number].append((time.process_time() - start) * 1000)
                shown += number and any("harbour log" in one.text for one in made.receipt.candidates)
    for memory in memories:
        memory.close()
    p99 = [percentile(part, 0.99) for part in times]
    note = f"processor ms at p99: {p99[1]:.1f} over {p99[0]:.1f}; among the candidates {shown} times"
    yield Bar("ratio with a large tool result", round(p99[1] / p99[0], 2), 1.5, note)


def _large_turn(sizes: HardeningSizes, store: Path) -> Iterator[Bar]:
    empty, times = 0, list[float]()
    with Memory(store, _NAMESPACE) as memory:
        _ingest(memory, _LIGHTS)
        memory.flush()
        memory.context([{"role": "user", "content": "Which light is green?"}])
        text = "The harbour log of the pier lights says green. It was written on a Tuesday by the keeper. "
        memory.ingest(text * (sizes.turn_bytes // len(text)), session="large")
        end = time.perf_counter() + 120
        while time.perf_counter() < end and (memory.status().behind or not times):
            start = time.perf_counter()
            made = memory.context([{"role": "user", "content": f"Is light {len(times)} green?"}])
            times.append((time.perf_counter() - start) * 1000)
            empty += not made.text
            time.sleep(0.02)
    note = f"ms of wall time; {len(times)} contexts, p50 {median(times):.0f}, {empty} empty"
    yield Bar("slowest context beside a large turn", round(max(times)), 300, note)


def _first_calls(sizes: HardeningSizes, store: Path, asked: Sequence[str]) -> Iterator[Bar]:
    for name, count, starts, most in (("idle", 0, sizes.idle_starts, 0.0), ("busy", 8, sizes.busy_starts, 1.0)):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
        try:
            rows = [_fresh(store, "context", [asked[at % len(asked)]])[0] for at in range(starts)]
        finally:
            for process in busy:
                process.kill()
                process.wait()
        empty, took = sum(row["empty"] for row in rows), median([row["context"] for row in rows])
        note = f"percent of {starts} fresh processes, {count} busy ones beside them; p50 {took:.0f} ms"
        yield Bar(f"first contexts that are empty, {name}", round(100 * empty / starts, 1), most, note)


def _long_session(sizes: HardeningSizes, store: Path) -> Iterator[Bar]:
    def talk(start: int, stop: int) -> list[Message]:
        texts = ((at, "ok" if at % 7 == 3 else f"message {at}, {at % 97}") for at in range(start, stop))
        return [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in texts]

    times = list[float]()
    with Memory(store, _NAMESPACE, embedder="none", settings=_later()) as memory:
        for start in range(0, sizes.session, 5_000):
            memory.ingest_many(talk(start, min(start + 5_000, sizes.session)))
        for end in range(sizes.session + 2, sizes.session + 2 + 2 * sizes.histories, 2):
            start_s = time.process_time()
            memory.ingest_many(talk(end - 22, end))
            times.append((time.process_time() - start_s) * 1000)
        assert memory.status().turns == sizes.session + 2 * sizes.histories, "a history was not recognised"
    note = f"processor ms, the median of {len(times)}; the slowest {max(times):.1f}"
    yield Bar(f"two new turns in a session of {sizes.session:,}", round(median(times), 1), 20.0, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="Write the figures to this file.")
    parser.add_argument("--data", type=Path, default=Path("tests/data"), help="Folder of the kinds of secrets.")
    given = parser.parse_args()
    began, bars = machine(), []
    with tempfile.TemporaryDirectory(prefix="holdfast-hardening-") as folder:
        for bar in run(HardeningSizes(), given.data, Path(folder)):
            bars.append(asdict(bar) | {"met": bar.met})
            print(f"{bar.name}: {bar.value:g} (≤ {bar.most:g}{'' if bar.met else ', MISSED'}); {bar.note}", flush=True)
    if given.json:
        given.json.write_text(json.dumps({"machine": began, "bars": bars}, indent=1), encoding="utf-8")
    sys.exit(0 if all(one["met"] for one in bars) else 1)


if __name__ == "__main__":
    main()
