"""Lives benchmark: what a memory is worth after months of one person's ordinary chat (format: life.py).

A life is ingested session by session under a clock that stands at that session's time. Then its records are compared
with what a careful person would have kept, its questions are searched for, its tasks are given a context, and every
question is asked once as a turn and searched for again. docs/evidence/records.md defines the figures.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from holdfast.model import Kind, Record
from holdfast.probe.metrics import median
from holdfast.testing import FixedClock
from holdfast_bench.ask import Bm25Baseline
from holdfast_bench.life import (
    WHOLE,
    Life,
    LifeFact,
    LifeQuestion,
    Sources,
    fold_text,
    grade,
    is_dangling,
    names_relative_day,
    read_life,
)
from holdfast_bench.life_figures import (
    AskedFigures,
    Bm25Figures,
    EchoFigures,
    FoundFigures,
    LifeFigures,
    LivesFigures,
    QuestionFigures,
    RecordFigures,
    StandingFigures,
    TaskFigures,
    help_of_records,
    mean_of_lives,
)
from holdfast_bench.machine import Progress, run_info
from holdfast_bench.memories import (
    ShownItem,
    bench_embedder,
    bench_settings,
    display,
    share,
    shown_items,
    temporary_memories,
)

DEPTHS = (1, 3, 10)
BUDGETS = (1000, 2000)
_WIDE = ("list", "multi", "themes")  # kinds of questions that several facts answer
_PADDED, _SPARE_WORDS = 2.5, 8  # words of a record per word of the ideal statements it carries, and some more
_ALL = 1000  # records; a life makes fewer
_ECHOES = 5  # questions per session when all are asked again
_TASK_BUDGET = 1000
_BM25_DEPTH = 200
_BM25_ITEM_TOKENS = 12  # what the frame adds to an item


@dataclass(frozen=True, slots=True)
class FoundText:
    """A hit, or an item of a context, with the turns of the life that it comes from."""

    text: str
    sources: Sources
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    question: LifeQuestion
    hits: int
    new: int | None
    """Rank of the first answer …"""
    old: int | None
    """… and of the first hit that shows an old value and is not marked as outdated."""
    wide: float | None
    """Share of its facts among the hits, for questions that several facts answer."""

    def within(self, depth: int) -> bool:
        return self.new is not None and self.new <= depth


def run(paths: Sequence[Path], progress: Progress | None = None, rerank: bool = False) -> LivesFigures:
    """Score each life in a temporary store of its own."""
    started = time.perf_counter()
    lives = [read_life(path) for path in paths]
    scored = []
    settings = bench_settings()
    with closing(bench_embedder(settings)) as embedder:
        for number, life in enumerate(lives):
            clock = FixedClock(life.turns[0].at)
            with temporary_memories(settings, embedder, clock) as memory_of, memory_of("life") as memory:
                scored.append(LifeRun(life, memory, clock, rerank).score())
            if progress is not None:
                progress(life.name, number + 1, len(lives))
        info = run_info(started, embedder)
    return {
        "set": "lives",
        "n": len(scored),
        "mean": mean_of_lives(scored),
        "records_help": help_of_records(scored),
        "lives": scored,
        **info,
    }


@dataclass
class LifeRun:
    """One life in one memory."""

    life: Life
    memory: Memory
    clock: FixedClock
    rerank: bool = False
    """Questions are reranked by the cross-encoder of the ask models."""
    _ours: dict[str, str] = field(default_factory=dict)
    """The memory's ids of turns to the life's."""
    _sources: dict[str, frozenset[str]] = field(default_factory=dict)

    def score(self) -> LifeFigures:
        started = time.perf_counter()
        self._ingest()
        records = self._measure_records()
        self.memory.context([{"role": "user", "content": "hello"}], session="warm")
        questions, judged, asked = self._measure_questions()
        return {
            "life": self.life.name,
            "turns": len(self.life.turns),
            "sessions": len(self.life.sessions()),
            "records": records,
            "questions": questions,
            "tasks": self._measure_tasks(),
            "standing": self._measure_standing(),
            "echo": self._measure_echo(judged),
            "bm25": _measure_bm25(self.life),
            "asked": asked,
            "seconds": round(time.perf_counter() - started, 1),
        }

    def _ingest(self) -> None:
        for session, turns in self.life.sessions():
            messages = [{"role": one.role, "content": one.text, "at": one.at.isoformat()} for one in turns]
            self.clock.now = turns[-1].at + timedelta(seconds=5)
            kept = self.memory.ingest_many(messages, session=session)
            self._ours |= {ours.id: one.id for ours, one in zip(kept, turns, strict=True)}
            self.memory.flush()
        self.clock.now = self.life.questions[0].at

    def _sources_of(self, noun_id: str, turn_ids: Iterable[str] | None = None) -> Sources:
        """Return the life's turns that a record, turn or item of a context comes from."""
        if noun_id not in self._sources:
            if turn_ids is None:
                turn_ids = self._expand(noun_id)
            self._sources[noun_id] = frozenset(self._ours[one] for one in (*turn_ids, noun_id) if one in self._ours)
        return self._sources[noun_id]

    def _expand(self, noun_id: str) -> list[str]:
        try:
            return [turn.id for turn in self.memory.expand(noun_id)]
        except (InputError, NotFound):  # an item that is not stored, such as a rule of a file
            return []

    # Records

    def _measure_records(self) -> RecordFigures:
        life, now = self.life, self.clock.now
        live = [
            record
            for record in _records(self.memory.recent(limit=_ALL, kind="record"))
            if record.superseded_by is None
            and (record.valid_to is None or record.valid_to > now)
            and record.kind is not Kind.SUMMARY
        ]
        carried: dict[str, list[tuple[int, Record]]] = defaultdict(list)
        listed: dict[str, list[str]] = defaultdict(list)
        best: dict[str, int] = {}
        for record in live:
            sources = self._sources_of(record.id, record.turn_ids)
            grades = life.said(display(record), sources)
            best[record.id] = max(grades.values(), default=0)
            for name, level in grades.items():
                carried[name].append((level, record))
            verdict = _verdict(life, display(record), grades, sources)
            listed[verdict].append(f"{record.at:%Y-%m-%d} {record.kind.value}: {display(record)[:160]}")
        retired = self._retired()
        left = {
            name
            for record in retired
            for sources in [self._sources_of(record.id, record.turn_ids)]
            for name in life.said(display(record), sources)
            if not set(life.fact[name].turns).isdisjoint(sources)
        }
        current = [one for one in life.facts if not one.until]
        ended = [one for one in life.facts if one.until]
        rules = [one for one in life.rules if not one.until]
        covered = [one for one in current if carried[one.id]]
        clean = [one for one in current if any(level == WHOLE for level, _ in carried[one.id])]
        stale = [one for one in ended if self._stands(one, [record for _, record in carried[one.id]])]
        recorded = [one for one in ended if carried[one.id] or one.id in left]
        whole_rules = {one.id: [record for level, record in carried[one.id] if level == WHOLE] for one in rules}
        noisy = {turn for record in live for turn in self._sources_of(record.id)} & set(life.why_noise)
        # A record that says the fact only loosely, and another one wholly, is no copy of the fact.
        copies = [
            sum(
                not set(one.turns).isdisjoint(self._sources_of(record.id)) and level == best[record.id]
                for level, record in carried[one.of]
            )
            for one in life.same
            if not life.fact[one.of].until
        ]
        return {
            "records": len(live),
            "per_user_turn": share(len(live), sum(turn.role == "user" for turn in life.turns)),
            "good": share(len(listed["fact"]) + len(listed["rule"]), len(live)),
            "verdicts": {name: len(some) for name, some in listed.items() if some},
            "facts": len(current),
            "coverage": share(len(covered), len(current)),
            "clean_coverage": share(len(clean), len(current)),
            "self_contained": share(len(clean), len(covered)),
            "dangling": share(sum(is_dangling(display(record)) for record in live), len(live)),
            "relative_days": share(sum(names_relative_day(display(record)) for record in live), len(live)),
            "wordiness": self._wordiness(carried),
            "ended": len(ended),
            "stale": share(len(stale), len(ended)),
            "ended_recorded": len(recorded),
            "noticed": share(sum(one not in stale for one in recorded), len(recorded)),
            "retired": len(retired),
            "lost": _named(one for one in (*current, *rules) if one.id in left and not carried[one.id]),
            "rules": len(rules),
            "rules_covered": share(sum(bool(some) for some in whole_rules.values()), len(rules)),
            "rules_of_kind_guidance": share(
                sum(any(record.kind is Kind.GUIDANCE for record in some) for some in whole_rules.values()), len(rules)
            ),
            "noise": len(life.why_noise),
            "noise_recorded": share(len(noisy), len(life.why_noise)),
            "noise_recorded_by_why": Counter(life.why_noise[turn] for turn in noisy),
            "same": len(copies),
            "same_kept_once": share(sum(count == 1 for count in copies), len(copies)),
            "copies": sum(max(0, count - 1) for count in copies),
            "missed": _named(one for one in current if not carried[one.id]),
            "missed_rules": _named(one for one in rules if not whole_rules[one.id]),
            "stale_list": _named(stale),
            "listed": {name: some for name, some in listed.items() if some},
        }

    def _stands(self, ended: LifeFact, records: Iterable[Record]) -> bool:
        """Return True if one of the records that say an ended fact does not say its successor as well."""
        return any(
            not self.life.says_successor(display(record), self._sources_of(record.id), ended) for record in records
        )

    def _retired(self) -> list[Record]:
        """Return every record that was replaced, by way of the turns that made it."""
        versions = [one.record for turn in self._ours for one in self.memory.history(turn).versions]
        return list({record.id: record for record in versions if record.superseded_by is not None}.values())

    def _wordiness(self, carried: Mapping[str, Sequence[tuple[int, Record]]]) -> float | None:
        """Return the upper median of a record's words per word of the ideal statement."""
        ratios = []
        for name, some in carried.items():
            lengths = [len(display(record).split()) for level, record in some if level == WHOLE]
            if lengths:
                ratios.append(min(lengths) / len(self.life.fact[name].text.split()))
        return round(sorted(ratios)[len(ratios) // 2], 3) if ratios else None

    # Questions

    def _search(self, text: str, kind: str | None = None) -> list[FoundText]:
        hits = self.memory.search(text, limit=max(DEPTHS), kind=kind, rerank=self.rerank)
        return [
            FoundText(hit.text, self._sources_of(hit.id, hit.turn_ids), hit.outdated_by is not None) for hit in hits
        ]

    def _measure_questions(self) -> tuple[QuestionFigures, list[JudgedQuestion], list[AskedFigures]]:
        life = self.life
        judged, turns_only, times = [], [], []
        inside: dict[int, list[bool]] = {budget: [] for budget in BUDGETS}
        only_old = empty = degraded = 0
        for question in life.questions:
            self.clock.now = question.at
            started = time.perf_counter()
            hits = self._search(question.text)
            times.append(time.perf_counter() - started)
            judged.append(_judge(life, question, hits))
            turns_only.append(_judge(life, question, self._search(question.text, "turn")))
            for budget in BUDGETS:
                made = self.memory.context(
                    [{"role": "user", "content": question.text}], session=f"ask-{question.id}", memory_budget=budget
                )
                items = [FoundText(one.text, self._sources_of(one.id)) for one in shown_items(made)]
                answered = any(life.answers(question, one.text, one.sources) for one in items)
                inside[budget].append(answered and question.known)
                degraded += made.degraded is not None
            stale = any(life.is_stale(question, one.text) for one in items)
            only_old += bool(question.known and question.stale and stale and not answered)
            empty += not question.known and not items
        asked = [one for one in judged if one.question.known]
        unknown = [one for one in judged if not one.question.known]
        changed = sum(bool(one.question.stale) for one in asked)
        by_kind: dict[str, list[bool]] = defaultdict(list)
        for one in asked:
            by_kind[one.question.kind].append(one.within(3))
        figures: QuestionFigures = {
            "n": len(asked),
            "n_changed": changed,
            "n_unknown": len(unknown),
            **_found_figures(judged),
            "context_1000": share(sum(inside[1000]), len(asked)),
            "context_2000": share(sum(inside[2000]), len(asked)),
            "context_old_without_new": share(only_old, changed),
            "unknown_silent": share(sum(one.hits == 0 for one in unknown), len(unknown)),
            "unknown_context_empty": share(empty, len(unknown)),
            "turns_only": _found_figures(turns_only),
            "first_3_by_kind": {kind: f"{sum(some)}/{len(some)}" for kind, some in sorted(by_kind.items())},
            "degraded": degraded,
            "search_ms_p50": round(median(times) * 1000, 1),
        }
        rows: list[AskedFigures] = [
            {
                "id": one.question.id,
                "kind": one.question.kind,
                "new": one.new,
                "old": one.old,
                "new_turns_only": bare.new,
            }
            for one, bare in zip(judged, turns_only, strict=True)
        ]
        return figures, judged, rows

    # Tasks and rules

    def _measure_tasks(self) -> TaskFigures:
        life = self.life
        wanted = present = private = 0
        misses, strays, leaks = [], [], []
        followed: Counter[str] = Counter()
        for task in life.tasks:
            self.clock.now = task.at
            made = self.memory.context(
                [{"role": "user", "content": task.text}], session=f"task-{task.id}", memory_budget=_TASK_BUDGET
            )
            items = shown_items(made)
            for name in task.rules:
                saying = self._saying(items, life.fact[name])
                wanted += 1
                present += bool(saying)
                if not any(item.follow for item in saying):
                    misses.append(f"{task.id} {name}: {'quoted only' if saying else 'absent'}")
            private += len(task.avoid)
            leaks += [f"{task.id} {name}" for name in task.avoid if self._saying(items, life.fact[name])]
            for item in items:
                if item.follow:
                    said = [rule for rule in life.rules if self._saying([item], rule)]
                    kind = (
                        "no rule" if not said else "ended rule" if all(rule.until for rule in said) else "current rule"
                    )
                    followed[kind] += 1
                    if kind != "current rule":
                        strays.append(f"{task.id} {kind}: {item.text[:120]}")
        return {
            "wanted": wanted,
            "present": share(present, wanted),
            "as_rules": share(wanted - len(misses), wanted),
            "follow_items": followed,
            "follow_not_a_rule": share(len(strays), followed.total()),
            "private": private,
            "leaked": share(len(leaks), private),
            "misses": misses,
            "strays": strays,
            "leaks": leaks,
        }

    def _measure_standing(self) -> StandingFigures:
        """Measure what is handed over without a question."""
        items = shown_items(self.memory.standing())
        followed = [item for item in items if item.follow]
        rules = [one for one in self.life.rules if not one.until]
        return {
            "items": len(items),
            "rules": share(sum(bool(self._saying(items, one)) for one in rules), len(rules)),
            "rules_as_rules": share(sum(bool(self._saying(followed, one)) for one in rules), len(rules)),
            "stale": sum(bool(self._saying(items, one)) for one in self.life.facts if one.until),
        }

    def _saying(self, items: Iterable[ShownItem], fact: LifeFact) -> list[ShownItem]:
        return [item for item in items if grade(item.text, self._sources_of(item.id), fact)]

    # Echo

    def _measure_echo(self, before: Sequence[JudgedQuestion]) -> EchoFigures:
        """Ask every question as a turn, answer nothing, and search for it again."""
        asked = [one.question for one in before if one.question.known]
        start = self.life.questions[0].at + timedelta(hours=1)
        for number, question in enumerate(asked):
            self.clock.now = start + timedelta(minutes=number)
            at = self.clock.now.isoformat()
            self.memory.ingest_many(
                [
                    {"role": "user", "content": question.text, "at": at},
                    {"role": "assistant", "content": "I'm not sure, let me check.", "at": at},
                ],
                session=f"echo-{number // _ECHOES}",
            )
        self.memory.flush()
        self.clock.now += timedelta(days=1)
        judged, itself = [], 0
        for question in asked:
            hits = self._search(question.text)
            itself += bool(hits) and fold_text(hits[0].text) == fold_text(question.text)
            judged.append(_judge(self.life, question, hits))
        was, now = _found_figures(before), _found_figures(judged)
        made = self.memory.recent(limit=_ALL, kind="record", since=start - timedelta(minutes=30))
        return {
            "first_1": (was["first_1"], now["first_1"]),
            "first_3": (was["first_3"], now["first_3"]),
            "question_is_hit_1": share(itself, len(asked)),
            "records_made_of_questions": len(made),
        }


def _judge(life: Life, question: LifeQuestion, hits: Sequence[FoundText]) -> JudgedQuestion:
    ranked = list(enumerate(hits, 1))
    new = next((rank for rank, hit in ranked if life.answers(question, hit.text, hit.sources)), None)
    old = next((rank for rank, hit in ranked if life.is_stale(question, hit.text) and not hit.outdated), None)
    wide = None
    if question.kind in _WIDE and question.facts:
        sources = {turn for hit in hits for turn in hit.sources}
        wide = sum(not sources.isdisjoint(life.fact[one].turns) for one in question.facts) / len(question.facts)
    return JudgedQuestion(question, len(hits), new, old, wide)


def _found_figures(judged: Sequence[JudgedQuestion]) -> FoundFigures:
    asked = [one for one in judged if one.question.known]
    changed = [one for one in asked if one.question.stale]
    newer = sum(one.new is not None and (one.old is None or one.new < one.old) for one in changed)
    wide = [one.wide for one in asked if one.wide is not None]
    return {
        "first_1": share(sum(one.within(1) for one in asked), len(asked)),
        "first_3": share(sum(one.within(3) for one in asked), len(asked)),
        "first_10": share(sum(one.within(10) for one in asked), len(asked)),
        "changed_new_first": share(newer, len(changed)),
        "changed_old_only": share(sum(one.old is not None and one.new is None for one in changed), len(changed)),
        "wide_facts_in_10": share(sum(wide), len(wide)),
    }


def _measure_bm25(life: Life) -> Bm25Figures:
    """Rank the turns by BM25 as a plain yardstick; its contexts take the turns by rank, 4 characters per token."""
    index = Bm25Baseline([turn.text for turn in life.turns])
    judged = []
    inside = dict.fromkeys(BUDGETS, 0)
    for question in life.questions:
        scores = index.scores(question.text)
        ranked = sorted(scores, key=lambda number: (-scores[number], number))[:_BM25_DEPTH]
        hits = [FoundText(life.turns[number].text, (life.turns[number].id,)) for number in ranked]
        judged.append(_judge(life, question, hits[: max(DEPTHS)]))
        for budget in BUDGETS:
            inside[budget] += question.known and any(
                life.answers(question, one.text, one.sources) for one in _pack(hits, budget)
            )
    asked = sum(one.known for one in life.questions)
    return {
        **_found_figures(judged),
        "context_1000": share(inside[1000], asked),
        "context_2000": share(inside[2000], asked),
    }


def _pack(hits: Iterable[FoundText], budget: int) -> Iterator[FoundText]:
    for hit in hits:
        cost = len(hit.text) // 4 + _BM25_ITEM_TOKENS
        if cost <= budget:
            budget -= cost
            yield hit


def _verdict(life: Life, text: str, grades: Mapping[str, int], sources: Sources) -> str:
    """Return one word for a record; what spoils it comes first."""
    if sources and set(sources) <= life.why_noise.keys():
        return "noise"
    said = [life.fact[name] for name in grades]
    if any(one.until and not life.says_successor(text, sources, one) for one in said):
        return "stale"
    current = [one for one in said if not one.until]
    if not current:
        return "matches nothing"
    whole = [one for one in current if grades[one.id] == WHOLE]
    if not whole or is_dangling(text):
        return "not self-contained"
    if len(text.split()) > _PADDED * sum(len(one.text.split()) for one in whole) + _SPARE_WORDS:
        return "padded"
    return "rule" if any(one in life.rules for one in whole) else "fact"


def _named(facts: Iterable[LifeFact]) -> list[str]:
    return [f"{one.id}: {one.text}" for one in facts]


def _records(found: Iterable[object]) -> list[Record]:
    return [one for one in found if isinstance(one, Record)]
