"""Answers to questions about the talk as such, and about many things: recent turns, themes, a topic over time.

Search asks for them by the intent of a question; who asks an ordinary question does not load this.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import zip_longest

import numpy as np

from holdfast.admit.secrets import masked_text
from holdfast.index.blocks import BlockCache
from holdfast.index.candidates import CandidateTables
from holdfast.insight.clusters import ThemeSizes
from holdfast.insight.lookup import recent_turns
from holdfast.insight.themes import Period, find_themes
from holdfast.model import Role, Turn
from holdfast.models.embedder import Embedder
from holdfast.search.question import Ranking
from holdfast.search.rank import Positions, Scores, owners_of
from holdfast.search.retrieve import Query
from holdfast.search.when import Intent, ParsedQuestion
from holdfast.settings import Settings, tuned
from holdfast.store.rows import role_number
from holdfast.store.snapshot import Snapshot

_THEME_TURNS = 2000  # turns that are grouped for a question about themes: as many as a context has time for
_MOST_THEMES, _THEME_EXAMPLES = 10, 6
_LATE = timedelta(days=30)  # as `themes` has it
_OF_LATE = re.compile(r"\b(?:recent(?:ly)?|lately|these days|past (?:few )?weeks|latest)\b", re.IGNORECASE)


def overview(
    of: tuple[str, Snapshot],
    query: Query,
    asked: ParsedQuestion,
    embedder: Embedder | None,
    cache: BlockCache,
    settings: Settings,
    now: datetime,
) -> tuple[list[Turn], str]:
    """Return the turns that answer a question about the talk as such, in order, and the reason.

    Recent talk has no topic to look for: the newest turns answer (RECALL-7). For themes there are turns of each, the
    largest theme first (RECALL-8); where too little was said for a theme, the newest turns.
    """
    namespace, view = of
    since, until = _period(query, asked)
    if asked.intent is Intent.THEMES and query.session is None:
        late = now - _LATE if since is None and _OF_LATE.search(query.text) else since
        fingerprint = None if embedder is None else embedder.profile.fingerprint
        sizes = replace(tuned(settings, ThemeSizes), turns=_THEME_TURNS, examples=_THEME_EXAMPLES)
        found = find_themes(view, namespace, Period(late, until), _MOST_THEMES, fingerprint, cache, settings, sizes)
        ranked = [one.id for row in zip_longest(*(theme.examples for theme in found)) for one in row if one is not None]
        turns = view.turns_by_id(ranked[: query.limit])  # an example is cut and masked
        if found:
            labels = "; ".join(masked_text(theme.label) for theme in found)
            reason = f"asked for themes, and {len(found)} were found: {labels}"
            return [turns[one] for one in ranked if one in turns], reason
    newest = recent_turns(view, query.limit, since, until, query.session)
    return newest, "asked for the recent as such: the newest turns, newest first"


def _period(query: Query, asked: ParsedQuestion) -> tuple[datetime | None, datetime | None]:
    """Return the time that the filters and the question allow."""
    since, until = query.since, query.until
    if asked.windows:
        since = max([one for one in (since, min(window.start for window in asked.windows)) if one is not None])
        until = min([one for one in (until, max(window.end for window in asked.windows)) if one is not None])
    if query.as_of is not None:
        until = query.as_of if until is None else min(until, query.as_of)
    return since, until


def gathered(
    tables: CandidateTables, order: Sequence[int], out: Positions, scores: Scores, by_user: bool, settings: Ranking
) -> list[int]:
    """Return turns that speak of a topic, spread over the sessions; the user's first if the user's words are asked for.

    A reply is raised by its question, and a question by its reply. A session's next best exchange comes behind those
    of sessions that have shown less. `out` are positions that are filtered.
    """
    best: dict[int, float] = {}
    for at, owner in zip(order, owners_of(tables, np.array(order, np.int64)).tolist(), strict=True):
        best[owner] = max(best.get(owner, -math.inf), float(scores[at]))
    pool, gone = tables.parts[0].pool, set(out.tolist())
    user, assistant = role_number(Role.USER), role_number(Role.ASSISTANT)
    answers = np.flatnonzero((pool.sort == assistant) & (pool.sort[pool.before] == user) & pool.exists)
    partners = {int(at): int(pool.before[at]) for at in answers}
    partners |= {asked: at for at, asked in partners.items()}
    for at in list(best):
        partner = partners.get(at)
        if partner is not None and partner not in gone:
            best.setdefault(partner, float(scores[partner]))
    worth = {
        at: own + settings.exchange * max(best.get(partners.get(at, -1), own) - own, 0.0) for at, own in best.items()
    }
    shown: Counter[int] = Counter()
    turn_of: dict[int, int] = {}
    for at in sorted(worth, key=lambda at: -worth[at]):
        exchange = min(at, partners.get(at, at))
        if exchange not in turn_of:
            session = int(tables.columns.sessions.place[at])
            turn_of[exchange] = shown[session]
            shown[session] += 1
        worth[at] -= settings.spread * turn_of[exchange]
    ranked = sorted(worth, key=lambda at: -worth[at])
    return sorted(ranked, key=lambda at: by_user and at < pool.size and pool.sort[at] != user)
