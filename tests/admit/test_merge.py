"""What becomes of a new statement: the merge rule and its laws, trust, time, and the words of the receipt."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.admit.merge import Add, Drop, Merge, Neighbour, Statement, Supersede, Verdict, decide, trust
from holdfast.model import Kind, Provenance
from holdfast.models.embedder import THRESHOLDS, StaticEmbedder
from holdfast.settings import MergeSettings

WHEN = datetime(2025, 5, 1, tzinfo=UTC)


def statement(text: str, **changes: object) -> Statement:
    plain = Statement(text, Kind.FACT, Provenance.USER_STATED, 0.9, WHEN + timedelta(days=1), ("t-2",))
    return replace(plain, **changes)  # type: ignore[arg-type]


def neighbour(text: str, **changes: object) -> Neighbour:
    plain = Neighbour("r-1", text, 0.95, Kind.FACT, Provenance.USER_STATED, 0.8, 1, WHEN, ("t-1",))
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.mark.requirement("MERGE-1")
def test_a_second_wording_at_the_threshold_is_merged() -> None:
    verdict = decide(statement("I've got two dogs."), [neighbour("I have 2 dogs.", cosine=0.90)], THRESHOLDS)
    assert isinstance(verdict, Merge)
    assert (verdict.into, verdict.evidence_count, verdict.turn_ids) == ("r-1", 2, ("t-1", "t-2"))


@pytest.mark.requirement("MERGE-1")
def test_below_the_threshold_nothing_merges_and_the_threshold_is_a_setting() -> None:
    new, old = statement("I have two young dogs."), neighbour("I have 2 dogs.", cosine=0.85)
    assert isinstance(decide(new, [old], THRESHOLDS), Add)
    assert isinstance(decide(new, [old], THRESHOLDS, MergeSettings(same=0.8)), Merge)


@pytest.mark.requirement("MERGE-1", "MERGE-3")
def test_the_same_deciding_words_merge_from_a_lower_cosine_and_others_do_not() -> None:
    def at(cosine: float, text: str) -> Verdict:
        return decide(statement(text), [neighbour("I work for Acme.", cosine=cosine)], THRESHOLDS)

    assert isinstance(at(0.75, "I'm employed at Acme."), Merge)
    assert isinstance(at(0.45, "I'm employed at Acme."), Add)
    assert not isinstance(at(0.89, "I work for Apex."), Merge)


@pytest.mark.requirement("MERGE-1")
def test_the_same_turn_read_again_is_dropped() -> None:
    new = statement("I have 2 dogs.", turn_ids=("t-1",), confidence=0.8)
    verdict = decide(new, [neighbour("I have 2 dogs.")], THRESHOLDS)
    assert verdict == Drop("r-1 says it already, from the same turn", "r-1")


@pytest.mark.requirement("MERGE-2")
def test_the_better_source_keeps_its_words() -> None:
    new = statement("I do have two dogs.", provenance=Provenance.ASSISTANT_DERIVED, confidence=1.0)
    verdict = decide(new, [neighbour("I have 2 dogs.")], THRESHOLDS)
    assert isinstance(verdict, Merge)
    assert (verdict.text, verdict.provenance, verdict.confidence) == ("I have 2 dogs.", Provenance.USER_STATED, 0.8)


@pytest.mark.requirement("MERGE-2")
def test_the_users_words_replace_an_assistants_wording_of_the_same() -> None:
    old = neighbour("I have 2 dogs.", provenance=Provenance.ASSISTANT_DERIVED, confidence=0.95)
    verdict = decide(statement("I've got two dogs."), [old], THRESHOLDS)
    assert isinstance(verdict, Merge)
    assert (verdict.text, verdict.kept, verdict.provenance, verdict.confidence) == (
        "I've got two dogs.",
        "new",
        Provenance.USER_STATED,
        0.9,
    )


@pytest.mark.requirement("MERGE-2")
def test_among_equals_the_more_specific_text_and_the_higher_confidence_stay() -> None:
    old = neighbour("We bought a boat.", confidence=0.95)
    verdict = decide(statement("We bought an old boat."), [old], THRESHOLDS)
    assert isinstance(verdict, Merge)
    assert (verdict.text, verdict.confidence) == ("We bought an old boat.", 0.95)


@pytest.mark.requirement("MERGE-2")
def test_what_a_worse_source_adds_is_kept_beside_not_lost() -> None:
    new = statement("We bought an old boat.", provenance=Provenance.ASSISTANT_DERIVED)
    assert isinstance(decide(new, [neighbour("We bought a boat.")], THRESHOLDS), Add)


@pytest.mark.requirement("MERGE-3")
def test_a_differing_value_never_merges_however_close() -> None:
    verdict = decide(
        statement("I have 3 dogs called Rex."), [neighbour("I have 2 dogs called Rex.", cosine=0.999)], THRESHOLDS
    )
    assert not isinstance(verdict, Merge | Drop)


@pytest.mark.requirement("MERGE-3")
def test_an_add_beside_a_close_text_says_what_differs() -> None:
    verdict = decide(statement("I like green tea."), [neighbour("I like black tea.")], THRESHOLDS)
    assert isinstance(verdict, Add)
    assert verdict.reason == "close to r-1 (0.95), but they differ in a word: 'green' and 'black'"


@pytest.mark.requirement("MERGE-4")
def test_a_new_value_retires_the_old_record_far_below_the_merge_threshold() -> None:
    old = neighbour("I live in Porto.", cosine=0.45)
    verdict = decide(statement("We moved to Leeds in March."), [old], THRESHOLDS)
    assert isinstance(verdict, Supersede)
    assert verdict.old == ("r-1",)
    assert verdict.reason == "r-1: residence of the user: 'Porto' became 'Leeds'"


@pytest.mark.requirement("MERGE-4")
def test_only_the_record_it_speaks_of_is_retired() -> None:
    near = [
        neighbour("I live in Porto.", id="r-1", cosine=0.6),
        neighbour("My mother lives in Porto.", id="r-2", cosine=0.7),
        neighbour("I grew up in Porto.", id="r-3", cosine=0.65),
    ]
    verdict = decide(statement("I moved to Leeds."), near, THRESHOLDS)
    assert isinstance(verdict, Supersede)
    assert verdict.old == ("r-1",)


@pytest.mark.requirement("MERGE-4")
def test_when_unsure_both_stay_and_the_receipt_says_so() -> None:
    verdict = decide(statement("My sister is called Eva."), [neighbour("My sister is called Anna.")], THRESHOLDS)
    assert isinstance(verdict, Add)
    assert verdict.beside == ("r-1",)
    assert verdict.reason.startswith("kept beside r-1: unsure whether it replaces it")


@pytest.mark.requirement("MERGE-4")
def test_what_was_said_earlier_does_not_retire_what_was_said_later() -> None:
    new = statement("I moved to Leeds.", at=WHEN - timedelta(days=400))
    verdict = decide(new, [neighbour("I live in Porto.")], THRESHOLDS)
    assert isinstance(verdict, Add)
    assert "said before" in verdict.reason


@pytest.mark.requirement("MERGE-4")
def test_supersession_can_be_switched_off() -> None:
    verdict = decide(
        statement("I moved to Leeds."), [neighbour("I live in Porto.")], THRESHOLDS, MergeSettings(supersede=False)
    )
    assert isinstance(verdict, Add)
    assert verdict.beside == ("r-1",)


@pytest.mark.requirement("MERGE-4")
@pytest.mark.parametrize("kind", [Kind.SUMMARY, Kind.EPISODE])
def test_summaries_are_neither_merged_nor_retired(kind: Kind) -> None:
    assert isinstance(
        decide(statement("I moved to Leeds."), [neighbour("I live in Porto.", kind=kind)], THRESHOLDS), Add
    )
    assert isinstance(
        decide(statement("I live in Porto.", kind=kind), [neighbour("I live in Porto.")], THRESHOLDS), Add
    )


@pytest.mark.requirement("MERGE-5")
@pytest.mark.parametrize("source", [Provenance.EPISODE_SUMMARY, Provenance.ASSISTANT_DERIVED, Provenance.TOOL_DERIVED])
def test_a_lower_trust_source_never_supersedes_the_user(source: Provenance) -> None:
    verdict = decide(statement("I moved to Leeds.", provenance=source), [neighbour("I live in Porto.")], THRESHOLDS)
    assert isinstance(verdict, Add)
    assert f"{source.value} does not replace user_stated" in verdict.reason


@pytest.mark.requirement("MERGE-5", "ADMIT-2")
def test_a_proposal_is_followed_only_if_the_record_is_near_and_trust_allows() -> None:
    proposal = statement("Mornings are fine after all.", supersedes="r-1")
    old = neighbour("Please book nothing before nine.", cosine=0.4)
    assert isinstance(decide(proposal, [old], THRESHOLDS), Supersede)
    assert isinstance(decide(replace(proposal, supersedes="r-99"), [old], THRESHOLDS), Add)
    assert isinstance(decide(proposal, [replace(old, cosine=0.1)], THRESHOLDS), Add)
    assert isinstance(decide(replace(proposal, provenance=Provenance.ASSISTANT_DERIVED), [old], THRESHOLDS), Add)


def test_with_nothing_remembered_it_is_added() -> None:
    assert decide(statement("I live in Porto."), [], THRESHOLDS) == Add("nothing like it is remembered")


# --- the laws of merging ---------------------------------------------------------------------------------------------

TEXTS = st.sampled_from(
    ["I have two dogs.", "I have 2 dogs.", "I've got two dogs.", "I really have 2 dogs, thanks.", "I do have two dogs."]
)
SOURCES = st.sampled_from(Provenance)
SURE = st.floats(0, 1)
TURNS = st.lists(st.sampled_from(["t-1", "t-2", "t-3", "t-4"]), min_size=1, max_size=3, unique=True).map(tuple)
NEW = st.builds(Statement, TEXTS, st.just(Kind.FACT), SOURCES, SURE, st.just(WHEN), TURNS)
OLD = st.builds(
    Neighbour,
    st.just("r-1"),
    TEXTS,
    st.just(0.95),
    st.just(Kind.FACT),
    SOURCES,
    SURE,
    st.integers(1, 9),
    st.just(WHEN),
    TURNS,
)


def merged(old: Neighbour, verdict: Merge) -> Neighbour:
    """The record as it is after the merge."""
    return replace(
        old,
        text=verdict.text,
        provenance=verdict.provenance,
        confidence=verdict.confidence,
        evidence_count=verdict.evidence_count,
        turn_ids=verdict.turn_ids,
    )


@given(NEW, OLD)
@pytest.mark.requirement("MERGE-2")
def test_a_merge_never_makes_a_record_worse(new: Statement, old: Neighbour) -> None:
    verdict = decide(new, [old], THRESHOLDS)
    assert isinstance(verdict, Merge | Drop)
    if isinstance(verdict, Merge):
        assert trust(verdict.provenance) == max(trust(new.provenance), trust(old.provenance))
        assert verdict.evidence_count >= old.evidence_count
        assert set(verdict.turn_ids) == set(old.turn_ids) | set(new.turn_ids)
        # Another's wording never becomes the user's.
        owner = new if verdict.kept == "new" else old
        assert (verdict.text, verdict.provenance) == (owner.text, owner.provenance)
        if new.provenance is old.provenance:
            assert verdict.confidence == max(new.confidence, old.confidence)


@given(NEW, OLD)
@pytest.mark.requirement("MERGE-2")
def test_merging_the_same_statement_twice_is_merging_it_once(new: Statement, old: Neighbour) -> None:
    first = decide(new, [old], THRESHOLDS)
    once = merged(old, first) if isinstance(first, Merge) else old
    assert isinstance(decide(new, [once], THRESHOLDS), Drop)


@given(NEW, st.lists(OLD, min_size=1, max_size=4))
def test_the_order_of_the_neighbours_does_not_matter(new: Statement, near: list[Neighbour]) -> None:
    named = [replace(old, id=f"r-{place}", cosine=0.9 + place / 100) for place, old in enumerate(near)]
    assert decide(new, named, THRESHOLDS) == decide(new, named[::-1], THRESHOLDS)


@pytest.mark.requirement("MERGE-1", "MERGE-4")
def test_with_the_default_embedder_a_diary_keeps_what_holds(static_embedder: StaticEmbedder) -> None:
    """The decision on real cosines: told twice, changed, and told of somebody else."""
    live: dict[str, str] = {}
    for place, text in enumerate(
        [
            "I live in Porto.",
            "My sister lives in Leeds.",
            "I really live in Porto.",
            "My rent is 900 euros.",
            "I moved to Ghent.",
            "My rent is 950 euros now.",
            "I'm allergic to dust.",
            "I'm allergic to latex.",
        ]
    ):
        cosines = static_embedder.embed([text, *live.values()])
        near = [
            neighbour(old, id=id, cosine=float(cosines[0] @ vector), at=WHEN)
            for (id, old), vector in zip(live.items(), cosines[1:], strict=True)
        ]
        verdict = decide(statement(text, turn_ids=(f"t-{place}",)), near, THRESHOLDS)
        if isinstance(verdict, Supersede):
            for id in verdict.old:
                del live[id]
        if isinstance(verdict, Merge):
            live[verdict.into] = verdict.text
        else:
            live[f"r-{place}"] = text
    assert sorted(live.values()) == [
        "I moved to Ghent.",
        "I'm allergic to dust.",
        "I'm allergic to latex.",
        "My rent is 950 euros now.",
        "My sister lives in Leeds.",
    ]


@pytest.mark.requirement("BEL-3")
def test_different_facts_about_one_person_are_not_linked() -> None:
    old = neighbour("My landlord lives in Brno.", cosine=0.7)
    assert decide(statement("My landlord plays the violin."), [old], THRESHOLDS).revises == ()  # type: ignore[union-attr]
