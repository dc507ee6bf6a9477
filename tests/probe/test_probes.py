"""Probes: the user's own questions on the production path."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.probe.extractors import measure_noise
from holdfast.probe.probes import Probe, draft_probes, probe_hash, read_probes, write_probes
from holdfast.probe.run import gate, read_baseline, run_probes, save_baseline
from holdfast.testing import HashEmbedder
from tests.support.memories import OpenMemory, assistant, user

SAID = (
    "Our boat shed opens at seven on weekdays.",
    "The ferry timetable hangs beside the harbour office.",
    "My neighbour Ilse keeps bees behind the chapel.",
    "The attic window rattles whenever the wind turns west.",
)


@pytest.fixture
def shed(memory: Memory) -> Memory:
    """Return a memory with four turns."""
    memory.ingest_many([user(text) for text in SAID], session="s")
    memory.flush()
    return memory


def turn_id(memory: Memory, beginning: str) -> str:
    return next(turn.id for turn in memory.recent() if turn.text.startswith(beginning))


@pytest.mark.requirement("EVAL-1")
def test_a_probe_run_reports_ranks_intervals_and_times(shed: Memory) -> None:
    bees, shed_opens = turn_id(shed, "My neighbour"), turn_id(shed, "Our boat")
    report = run_probes(
        shed,
        [
            Probe("who keeps bees behind the chapel?", (bees,)),
            Probe("when does the boat shed open on weekdays?", (shed_opens,)),
            Probe("where does the ferry timetable hang?", (bees,)),  # another turn than the one that answers
        ],
    )
    assert [one.rank for one in report.each][:2] == [1, 1]
    assert report.each[2].rank != 1
    assert report.figures is not None and report.figures["p@1"] == 0.6667
    assert report.intervals is not None
    for name, (low, high) in report.intervals.items():
        assert 0 <= low <= report.figures[name] <= high <= 1  # type: ignore[literal-required]
    assert report.search_ms is not None and 0 < report.search_ms["p50"] <= report.search_ms["p95"]
    assert (report.probes, report.asked, report.drafts, report.drifted) == (3, 3, 0, ())
    assert report.in_prompt is not None and not report.in_prompt_note


@pytest.mark.requirement("EVAL-1")
def test_the_share_in_the_prompt_is_found_by_ids(shed: Memory) -> None:
    bees, attic = turn_id(shed, "My neighbour"), turn_id(shed, "The attic")
    probes = [Probe("who keeps bees?", (bees,)), Probe("what rattles?", (attic,))]
    report = run_probes(shed, probes, prompt=lambda question: f"{question}\n[id {bees}, user, turn]\n| …")
    assert [one.in_prompt for one in report.each] == [True, False]
    assert (report.in_prompt, report.in_prompt_note) == (0.5, "")


@pytest.mark.requirement("EVAL-1")
def test_two_probe_runs_agree(shed: Memory) -> None:
    probes = [Probe("bees", (turn_id(shed, "My neighbour"),)), Probe("attic", (turn_id(shed, "The attic"),))]
    first, second = run_probes(shed, probes), run_probes(shed, probes)
    assert (first.figures, first.intervals, first.hash) == (second.figures, second.intervals, second.hash)


@pytest.mark.requirement("EVAL-1")
def test_a_record_is_answered_by_itself_or_its_turn(memory: Memory) -> None:
    record = memory.remember("The spare key of the boat shed is with Ilse")
    turn = memory.ingest("The API of our shop runs on port 9090.", session="s")
    memory.flush()
    (made,) = memory.why(turn.id).records
    report = run_probes(
        memory,
        [Probe("who has the spare key?", (record.id,)), Probe("shop API port", (made.id,))],
    )
    assert [one.rank for one in report.each] == [1, 1]


@pytest.mark.requirement("EVAL-1")
def test_replaced_forgotten_or_missing_answers_are_drifted(memory: Memory) -> None:
    old = memory.ingest("The API of our shop runs on port 8080.", session="s", at="2026-03-02")
    memory.flush()
    (record,) = memory.why(old.id).records
    memory.ingest("The API of our shop runs on port 9090.", session="s", at="2026-03-03")
    kept = memory.ingest("My neighbour Ilse keeps bees behind the chapel.", session="s")
    gone = memory.remember("The gate code is 4711")
    memory.flush()
    memory.forget(gone.id)
    report = run_probes(
        memory,
        [
            Probe("which port is it?", (record.id,)),
            Probe("which port was it?", (old.id,)),
            Probe("the gate code?", (gone.id,)),
            Probe("nobody knows", ("r-0",)),
            Probe("who keeps bees?", ("r-0", kept.id)),  # one of two still holds
        ],
    )
    drifted = {one.question: one.why for one in report.drifted}
    assert list(drifted) == ["which port is it?", "which port was it?", "the gate code?", "nobody knows"]
    assert drifted["which port is it?"][0].startswith(f"{record.id} was replaced by r-")
    assert drifted["which port was it?"][0].startswith(f"what {old.id} says was replaced by r-")
    assert drifted["the gate code?"] == (f"{gone.id} was forgotten",)
    assert drifted["nobody knows"] == ("r-0 is not in this namespace",)
    assert [one.question for one in report.each] == ["who keeps bees?"]


@pytest.mark.requirement("EVAL-1")
def test_the_probe_hash_ignores_order_and_notes() -> None:
    one, other = Probe("a", ("r-1", "r-2")), Probe("b", ("r-3",))
    assert probe_hash([one, other]) == probe_hash([other, Probe("a", ("r-2", "r-1"), "a note")])
    assert probe_hash([one, other]) != probe_hash([one, Probe("b", ("r-4",))])


@pytest.mark.requirement("EVAL-1")
def test_drafts_are_made_from_records_and_asked_only_on_request(shed: Memory, tmp_path: Path) -> None:
    shed.remember("The spare key of the boat shed is with Ilse")
    shed.remember("Prefer the night train to Vienna", kind="preference")
    drafts = draft_probes(shed, 10)
    assert drafts and all(probe.draft and probe.note for probe in drafts)
    assert drafts == draft_probes(shed, 10)
    assert any(probe.question.startswith("What do I like or dislike about ") for probe in drafts)
    with pytest.raises(InputError, match="every probe is a draft"):
        run_probes(shed, drafts)
    asked = run_probes(shed, drafts, drafts=True)
    assert asked.asked == len(drafts)
    path = tmp_path / "probes.jsonl"
    write_probes(path, drafts)
    assert read_probes(path) == drafts
    with pytest.raises(InputError, match="already exists"):
        write_probes(path, drafts)


@pytest.mark.requirement("EVAL-1")
def test_without_records_drafts_are_made_from_user_statements(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none")
    with pytest.raises(InputError, match="nothing to ask about in 'ana'"):
        draft_probes(memory)
    memory.ingest_many([user(SAID[2]), user("thanks!"), assistant("The bees are asleep in winter, I believe.")])
    (draft,) = draft_probes(memory)
    assert "bees" in draft.question and draft.note == SAID[2]


@pytest.mark.requirement("EVAL-1", "SAFE-4")
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"], ids=ascii)
def test_a_question_with_unicode_line_ends_is_one_line(tmp_path: Path, mark: str) -> None:
    probes = [Probe(f"Who keeps bees{mark}behind the chapel?", ("r-1",)), Probe("Who sails?", ("r-2",))]
    write_probes(tmp_path / "probes.jsonl", probes)
    assert read_probes(tmp_path / "probes.jsonl") == probes


@pytest.mark.requirement("EVAL-1")
def test_the_gate_passes_equal_runs_and_stops_a_drop(shed: Memory, tmp_path: Path) -> None:
    probes = [Probe(text[:-1], (turn_id(shed, text[:12]),)) for text in SAID]
    before = run_probes(shed, probes)
    path = tmp_path / "baseline.json"
    save_baseline(path, before)
    baseline = read_baseline(path)
    assert baseline == before
    passed = gate(run_probes(shed, probes), baseline)
    assert passed.passed and passed.compared == 4 and passed.worse == ()
    for text in SAID[:2]:  # the same words said again push the first ones down
        shed.ingest(text[:-1], session="later")
    shed.flush()
    fallen = gate(run_probes(shed, probes), baseline)
    assert not fallen.passed
    assert [change.measure for change in fallen.changes if change.fell] == ["p@1", "mrr"]
    assert set(fallen.worse) == {text[:-1] for text in SAID[:2]}
    assert gate(run_probes(shed, probes), baseline, tolerance=1.0).changes[0].change == -0.5


@pytest.mark.requirement("EVAL-1")
def test_a_baseline_of_other_probes_is_refused(shed: Memory, tmp_path: Path) -> None:
    bees = Probe("bees", (turn_id(shed, "My neighbour"),))
    baseline = run_probes(shed, [bees])
    with pytest.raises(InputError, match="the baseline has other probes"):
        gate(run_probes(shed, [Probe("the bees", bees.expect)]), baseline)
    path = tmp_path / "baseline.json"
    path.write_text("{}")
    with pytest.raises(InputError, match="is not a baseline"):
        read_baseline(path)


@pytest.mark.requirement("EVAL-1")
def test_every_bad_probe_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "probes.jsonl"
    lines = ['{"question": "a", "expect": "r-1"}', "no", '{"question": "", "expect": ["r-1"]}', '{"question": "b"}']
    path.write_text("\n".join([*lines, lines[0]]))
    with pytest.raises(InputError) as caught:
        read_probes(path)
    assert all(f"probes.jsonl:{number}: " in str(caught.value) for number in (2, 3, 4, 5))
    path.write_text("\n")
    with pytest.raises(InputError, match="contains no probes"):
        read_probes(path)
    path.write_text(lines[0])
    assert read_probes(path) == [Probe("a", ("r-1",))]


@pytest.mark.requirement("EVAL-4")
def test_noise_counts_duplicates_refusals_and_sub_floor_hits(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.ingest("I moved the bees to the orchard and it rains right now.", session="s", at="2026-03-02")
    memory.ingest("Show me the bees.", session="s", at="2026-03-02")
    memory.remember("Thanks a lot for the bees!")  # an explicit memory: no gate judged it
    memory.flush()
    noise = measure_noise(memory, ["the bees"])
    assert noise.recalls == 1 and noise.hits_per_recall == 3
    assert (noise.sub_floor_records_per_recall, noise.sub_floor_turns_per_recall) == (1, 1)
    assert noise.redundant_adds_per_week == memory.stats().redundant_adds_per_week
    assert noise.refused == memory.stats().total.refused
    assert measure_noise(memory).sub_floor_records_per_recall is None
