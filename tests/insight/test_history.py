"""Histories of records, and `as_of` queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.settings import AdmitSettings
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK

ADMITTING = replace(QUICK, admit=AdmitSettings(enabled=True))
PORTS = {
    "2026-03-02T10:00:00Z": "The API of our shop runs on port 8080.",
    "2026-04-02T10:00:00Z": "The API of our shop runs on port 9090.",
    "2026-05-02T10:00:00Z": "The API of our shop runs on port 7070 now.",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", settings=ADMITTING) as opened:
        for at, text in PORTS.items():
            opened.ingest(text, at=at)
        opened.ingest("I have two cats called Miso and Nori.", at="2026-05-03T10:00:00Z")
        opened.flush()
        yield opened


def live(memory: Memory) -> dict[str, Record]:
    return {one.text: one for one in memory.recent(100, kind="record") if isinstance(one, Record)}


@pytest.mark.requirement("MERGE-4")
def test_history_shows_the_whole_chain_from_any_record(memory: Memory) -> None:
    newest = live(memory)[PORTS["2026-05-02T10:00:00Z"]]
    told = memory.history(newest.id)
    assert [version.record.text for version in told.versions] == list(PORTS.values())
    assert [version.live for version in told.versions] == [False, False, True]
    first, second, third = (version.record for version in told.versions)
    assert (first.superseded_by, second.superseded_by, third.superseded_by) == (second.id, third.id, None)
    assert (first.valid_to, second.valid_to, third.valid_to) == (second.valid_from, third.valid_from, None)
    for record in (first, second):
        assert plain(memory.history(record.id).versions) == plain(told.versions)


@pytest.mark.requirement("MERGE-4", "INV-6")
def test_each_version_has_its_sources_and_reasons(memory: Memory) -> None:
    newest = live(memory)[PORTS["2026-05-02T10:00:00Z"]]
    for version in memory.history(newest.id).versions:
        (source,) = version.sources
        assert source.text == version.record.text
        assert version.reasons[0].what == "recorded" and source.id in version.reasons[0].reason
        assert version.live == (version.reasons[-1].what != "superseded")
    (first, *_) = memory.history(newest.id).versions
    assert "9090" in first.reasons[-1].reason


@pytest.mark.requirement("MERGE-4")
def test_a_record_that_was_never_replaced_has_one_version(memory: Memory) -> None:
    cats = live(memory)["I have two cats called Miso and Nori."]
    (version,) = memory.history(cats.id).versions
    assert version.record == cats and version.live
    memory.forget(cats.id)
    (version,) = memory.history(cats.id).versions
    assert not version.live and version.reasons[-1].what == "forgotten"


@pytest.mark.requirement("MERGE-4", "MERGE-2")
def test_a_merged_record_lists_all_its_turns(memory: Memory) -> None:
    memory.ingest("I have two cats called Miso and Nori.", at="2026-05-04T10:00:00Z", session="later")
    memory.flush()
    cats = live(memory)["I have two cats called Miso and Nori."]
    (version,) = memory.history(cats.id).versions
    assert version.record.evidence_count == len(version.sources) == 2
    assert [reason.what for reason in version.reasons] == ["recorded", "merged"]
    assert [one.what for one in memory.why(cats.id).decisions] == ["recorded", "merged"]


@pytest.mark.requirement("MERGE-4")
def test_the_history_of_a_turn_lists_its_records(memory: Memory) -> None:
    turns = memory.thread("default")
    (version,) = memory.history(turns[0].id).versions
    assert version.record.text == turns[0].text and not version.live
    memory.ingest("thanks!")
    memory.flush()
    assert memory.history(memory.thread("default")[-1].id).versions == ()


def test_an_unknown_id_has_no_history(memory: Memory) -> None:
    with pytest.raises(NotFound, match="no turn or record 'r-0'"):
        memory.history("r-0")


@pytest.mark.requirement("INV-3", "MERGE-4")
def test_a_rebuild_keeps_every_history(memory: Memory) -> None:
    ids = [turn.id for turn in memory.thread("default")] + [record.id for record in live(memory).values()]
    before = [plain(memory.history(one)) for one in ids]
    memory.rebuild()
    assert [plain(memory.history(one)) for one in ids] == before


@pytest.mark.requirement("MERGE-4")
@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("2026-03-01", None),
        ("2026-03-15", "2026-03-02T10:00:00Z"),
        ("2026-04-15", "2026-04-02T10:00:00Z"),
        ("2026-04-02T10:00:00Z", "2026-04-02T10:00:00Z"),
        ("2026-06-01", "2026-05-02T10:00:00Z"),
        (None, "2026-05-02T10:00:00Z"),
    ],
)
def test_as_of_returns_the_record_that_was_live_then(memory: Memory, as_of: str | None, expected: str | None) -> None:
    found = memory.search("which port does the API of our shop run on?", kind="fact", as_of=as_of)
    ports = [hit.text for hit in found if "port" in hit.text]
    assert ports == ([] if expected is None else [PORTS[expected]])


@pytest.mark.requirement("MERGE-4", "RECALL-5")
def test_recent_records_are_live(memory: Memory) -> None:
    assert set(live(memory)) == {PORTS["2026-05-02T10:00:00Z"], "I have two cats called Miso and Nori."}
