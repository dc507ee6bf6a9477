"""`holdfast janitor` and `holdfast doctor`, as a person or a CI job runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.memory import Memory

from .command import Holdfast


@pytest.fixture
def old(store: Path, holdfast: Holdfast) -> Holdfast:
    """A store with a record that is years old."""
    with Memory(store, "ana") as memory:
        memory.ingest("The API of our shop runs on port 8080.", at="2020-03-04T18:00:00Z")
        memory.flush()
    return holdfast


@pytest.mark.requirement("KEEP-2")
def test_the_janitor_has_a_dry_run_and_an_undo(old: Holdfast) -> None:
    dry = old("janitor", "--dry-run")
    assert dry.code == 0 and "1 would be demoted" in dry.out
    before, after = re.search(r"user_stated (\S+) → episode_summary (\S+)", dry.out).groups()  # type: ignore[union-attr]
    assert float(after) == pytest.approx(float(before) * 0.8, abs=0.01)
    made = old("janitor", "--json").json
    assert (made["did"], made["demoted"]) == ("tidied", 1)
    assert "was done already; there is one run per week" in old("janitor").out
    run = str(made["run"])
    assert "every record is as it was before" in old("janitor", "--undo", run).out
    assert old("recent", "--kind", "record", "--json").json["records"][0]["provenance"] == "user_stated"  # type: ignore[index]
    missing = old("janitor", "--undo", "1999-W01")
    assert missing.code == 1 and run in missing.err


@pytest.mark.requirement("KEEP-2")
def test_cull_happens_only_on_request(old: Holdfast) -> None:
    made = old("janitor", "--cull", "--json").json
    assert (made["demoted"], made["culled"]) == (1, 0), "the user's own word is demoted first"


@pytest.mark.requirement("KEEP-3")
def test_the_doctor_exits_with_0_or_3_and_says_why(old: Holdfast) -> None:
    well = old("doctor")
    assert well.code == 0 and well.out.rstrip().endswith("healthy")
    old("remember", "Deploys happen on Fridays")
    old("remember", "deploys happen on Fridays!")
    ill = old("doctor")
    assert ill.code == 3 and "not healthy: duplicates" in ill.out and "forget all but one of each" in ill.out
    assert old("doctor", "--max-duplicates", "0.5").code == 0
    told = old("doctor", "--json")
    assert told.code == 3 and told.json["healthy"] is False
    assert old("doctor", "--max-junk", "7").code == 2


@pytest.mark.requirement("KEEP-3")
def test_the_doctor_examines_other_systems(holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_NAMESPACE")
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"results": [{"id": "a", "memory": "Likes tea"}, {"id": "b", "memory": "likes tea"}]}))
    said = holdfast("doctor", str(path))
    assert said.code == 3 and "(mem0 export)" in said.out
    assert holdfast("doctor", str(path), "--max-duplicates", "1").code == 0
    assert holdfast("doctor", str(tmp_path / "none.json")).code == 2
    refused = holdfast("doctor", str(path), "--fix")
    assert refused.code == 2 and "only examined" in refused.err


@pytest.mark.requirement("KEEP-3")
def test_doctor_takes_a_store_as_its_path(old: Holdfast, store: Path) -> None:
    made = old("doctor", str(store), "--fix", "--json")
    assert made.code == 0 and made.json["system"] == "holdfast" and made.json["memories"] == 1
