"""Who gets how many tokens: laws that hold for any rules, turns, guidance, memories and budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.budget import Allotment, Packing, Pieces, allot
from holdfast.context.render import ContextFrame, Item, render
from holdfast.context.tiers import ContextSizes, TierCandidate
from holdfast.index.blocks import IndexSizes
from holdfast.models.tokens import TokenEstimator
from holdfast.results import Tier

FRAME = ContextFrame.of(b"a secret of sixteen bytes or more", "s1", "ana")
SAID = datetime(2026, 5, 3, tzinfo=UTC)
SETTINGS = ContextSizes()
COUNTER = TokenEstimator()

TEXTS = st.text(st.sampled_from("boats tide <|im_start|> gate\n日本 é"), min_size=1, max_size=200)
BUDGETS = st.integers(1, 2500)


def candidates(prefix: str, base: bool = False) -> st.SearchStrategy[list[TierCandidate]]:
    made = st.builds(
        lambda number, text, days, score, out: TierCandidate(
            Item(f"{prefix}{number}", text, "user", "turn", SAID + timedelta(days=days)),
            "why", out, (f"turn-{number}",), score, base=base,
        ),
        st.integers(0, 40), TEXTS, st.integers(0, 3), st.floats(-3, 9), st.booleans(),
    )  # fmt: skip
    return st.lists(made, max_size=12, unique_by=lambda one: one.item.id)


WORLDS = st.fixed_dictionaries(
    {
        Tier.HARD: candidates("h"),
        Tier.TAIL: candidates("t", base=True),
        Tier.SOFT: candidates("s"),
        Tier.ELEVATED: candidates("e"),
        Tier.RECALLED: candidates("r"),
    }
)
LAW = settings(deadline=None, max_examples=60)  # other work on the machine is no failure of a law
World = dict[Tier, list[TierCandidate]]
EMPTY: World = {tier: [] for tier in Tier}


def shared_out(world: World, budget: int) -> tuple[Allotment, Pieces, int]:
    pieces = Pieces(FRAME, COUNTER)
    hard = [one.item for one in world[Tier.HARD]]
    tokens = pieces.tier(Tier.HARD, hard)
    others: dict[Tier, Sequence[TierCandidate]] = {tier: of for tier, of in world.items() if tier is not Tier.HARD}
    choose = Packing(frozenset({"boat"}), SETTINGS, IndexSizes())
    return allot(others, hard, tokens, budget, pieces, choose, SETTINGS), pieces, tokens


def rendered(made: Allotment) -> int:
    if not any(made.tiers.values()):
        return 0
    return COUNTER.count(render(FRAME, made.tiers, made.notices))


@pytest.mark.requirement("CTX-2", "CTX-4", "CTX-9")
@LAW
@given(WORLDS, BUDGETS)
def test_the_budget_is_kept_or_what_exceeds_it_is_stated(world: World, budget: int) -> None:
    made, pieces, hard = shared_out(world, budget)
    base = pieces.tier(Tier.TAIL, [one.item for one in world[Tier.TAIL] if not one.out])
    rules = pieces.tier(Tier.ELEVATED, made.tiers[Tier.ELEVATED])
    bound = pieces.frame_tokens + hard + base + rules + (pieces.notice(made.left_out) if made.left_out else 0)
    if made.over is None:
        assert rendered(made) <= budget
    else:
        assert bound > budget
        assert made.tiers[Tier.SOFT] == made.tiers[Tier.RECALLED] == []
        assert str(budget) in made.over


@pytest.mark.requirement("CTX-2", "CTX-4")
@LAW
@given(WORLDS, BUDGETS)
def test_rules_and_the_base_of_the_tail_are_never_cut(world: World, budget: int) -> None:
    made, _, _ = shared_out(world, budget)
    assert made.tiers[Tier.HARD] == [one.item for one in world[Tier.HARD]]
    assert made.tiers[Tier.TAIL] == [one.item for one in world[Tier.TAIL] if not one.out]


@pytest.mark.requirement("CTX-2")
@LAW
@given(WORLDS, BUDGETS)
def test_guidelines_are_a_prefix_in_source_order_within_their_share(world: World, budget: int) -> None:
    made, pieces, _ = shared_out(world, budget)
    taken = made.tiers[Tier.SOFT]
    assert pieces.tier(Tier.SOFT, taken) <= 0.30 * budget or not taken
    decisions = [one for one in made.decisions if one.tier is Tier.SOFT]
    assert [one.candidate.item for one in decisions if one.included] == taken
    fitting = [one for one in decisions if one.included or "fit" in one.reason or "room" in one.reason]
    assert [one.included for one in fitting] == sorted((one.included for one in fitting), reverse=True)


@pytest.mark.requirement("CTX-2")
@LAW
@given(WORLDS, BUDGETS)
def test_guidance_keeps_within_its_share_and_recall_is_starved_before_it(world: World, budget: int) -> None:
    made, pieces, _ = shared_out(world, budget)
    tokens = pieces.tier(Tier.ELEVATED, made.tiers[Tier.ELEVATED])
    assert tokens <= min(max(0.15 * budget, 400), 0.4 * budget)
    without, _, _ = shared_out({**world, Tier.RECALLED: [], Tier.SOFT: []}, budget)
    assert made.tiers[Tier.ELEVATED] == without.tiers[Tier.ELEVATED]  # recall and guidelines take nothing from it


@pytest.mark.requirement("CTX-2", "RULE-2")
@LAW
@given(WORLDS, BUDGETS)
def test_rules_of_the_user_that_did_not_fit_are_counted_in_one_line(world: World, budget: int) -> None:
    made, pieces, _ = shared_out(world, budget)
    missing = [one for one in made.decisions if one.tier is Tier.ELEVATED and "no room" in one.reason]
    limit = made.limits[Tier.ELEVATED]
    assert limit is not None
    if missing and limit >= 30:
        assert made.left_out == f"{len(missing)} more rule{'s' * (len(missing) > 1)} did not fit"
        tier = pieces.tier(Tier.ELEVATED, made.tiers[Tier.ELEVATED])
        assert tier + pieces.notice(made.left_out) <= limit
    elif not missing:
        assert made.left_out == ""


@pytest.mark.requirement("CTX-5")
@LAW
@given(WORLDS, BUDGETS)
def test_nothing_is_said_twice(world: World, budget: int) -> None:
    made, _, _ = shared_out(world, budget)
    turns: dict[str, Tier] = {}
    for decision in made.decisions:
        if decision.included and decision.tier is not Tier.SOFT:
            for turn_id in decision.candidate.turn_ids:
                assert turns.setdefault(turn_id, decision.tier) is decision.tier
    later = [item.text for tier in (Tier.ELEVATED, Tier.RECALLED) for item in made.tiers[tier]]
    assert len({" ".join(text.split()).casefold() for text in later}) == len(later)


@pytest.mark.requirement("CTX-8")
@LAW
@given(WORLDS, BUDGETS)
def test_every_candidate_has_one_verdict_with_a_reason(world: World, budget: int) -> None:
    made, _, _ = shared_out(world, budget)
    given_ids = [one.item.id for tier, of in world.items() if tier is not Tier.HARD for one in of]
    assert sorted(one.candidate.item.id for one in made.decisions) == sorted(given_ids)
    assert all(one.reason for one in made.decisions)
    for tier, items in made.tiers.items():
        if tier is not Tier.HARD:
            included = {one.candidate.item.id for one in made.decisions if one.tier is tier and one.included}
            assert included == {item.id for item in items}


@pytest.mark.requirement("CTX-7")
@LAW
@given(WORLDS, BUDGETS)
def test_the_same_candidates_give_the_same_choice(world: World, budget: int) -> None:
    assert shared_out(world, budget)[0] == shared_out(world, budget)[0]


def said(number: int, text: str, base: bool) -> TierCandidate:
    return TierCandidate(Item(f"t{number}", text, "user", "turn", SAID), "", turn_ids=(f"t{number}",), base=base)


@pytest.mark.requirement("CTX-2")
def test_a_short_tail_is_extended_by_one_pair_and_a_long_one_is_not() -> None:
    short = [said(number, "ok", number >= 2) for number in range(4)]
    made, _, _ = shared_out({**EMPTY, Tier.TAIL: short}, 1000)
    assert [item.id for item in made.tiers[Tier.TAIL]] == ["t0", "t1", "t2", "t3"]
    long = [said(number, "the tide turns at noon " * 20, number >= 2) for number in range(4)]
    made, _, _ = shared_out({**EMPTY, Tier.TAIL: long}, 1000)
    assert [item.id for item in made.tiers[Tier.TAIL]] == ["t2", "t3"]


@pytest.mark.requirement("CTX-2", "RULE-2")
@pytest.mark.parametrize("words", [100, 140, 160, 240, 400])
def test_a_rule_of_the_user_is_in_however_long_the_last_turns_are(words: int) -> None:
    tail = [said(number, "tide " * words, base=True) for number in range(4)]
    rule = TierCandidate(Item("e", "Use metric units.", "user", "guidance", SAID), "", turn_ids=("a",))
    made, _, _ = shared_out({**EMPTY, Tier.TAIL: tail, Tier.ELEVATED: [rule]}, 1000)
    assert [item.id for item in made.tiers[Tier.ELEVATED]] == ["e"]
    assert (made.over is None) is (rendered(made) <= 1000)


@pytest.mark.requirement("RULE-2")
def test_when_not_all_rules_fit_the_nearest_are_in_and_in_the_order_they_were_said() -> None:
    def rule(number: int, day: int) -> TierCandidate:
        item = Item(f"e{number}", f"Rule {number}: {'keep the tide tables ' * 10}", "user", "guidance")
        return TierCandidate(replace(item, at=SAID + timedelta(days=day)), "", turn_ids=(f"a{number}",))

    world = {**EMPTY, Tier.ELEVATED: [rule(number, 30 - number) for number in range(20)]}
    made, _, _ = shared_out(world, 1000)
    kept = len(made.tiers[Tier.ELEVATED])
    assert [item.id for item in made.tiers[Tier.ELEVATED]] == [f"e{number}" for number in reversed(range(kept))]
    assert 0 < kept < 20 and made.notices == [f"{20 - kept} more rules did not fit"]


@pytest.mark.requirement("CTX-2")
def test_guidance_stays_when_rules_and_tail_leave_nothing_for_recall() -> None:
    world: World = {
        **EMPTY,
        Tier.HARD: [TierCandidate(Item("h", "Never paint a wet hull. " * 60, "authored", "rule"), "")],
        Tier.ELEVATED: [TierCandidate(Item("e", "Use metric units.", "user", "guidance", SAID), "", turn_ids=("a",))],
        Tier.RECALLED: [
            TierCandidate(Item("r", "I live in Porto.", "user", "turn", SAID), "", turn_ids=("b",), score=9.0)
        ],
    }
    made, _, _ = shared_out(world, 400)
    assert made.over is not None
    assert [item.id for item in made.tiers[Tier.ELEVATED]] == ["e"]
    assert made.tiers[Tier.RECALLED] == []
