"""The doctor finds planted faults, repairs derived data, and reports nothing on a clean store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import numpy as np
import pytest

from holdfast.index.blocks import IndexSizes
from holdfast.log.messages import new_id
from holdfast.memory import Memory
from holdfast.settings import DoctorSettings
from holdfast.store.sqlite.transaction import position, vector_position
from holdfast.store.store import Store
from holdfast.store.types import Space
from holdfast.testing import FailingEmbedder, FixedClock, HashEmbedder
from holdfast.upkeep.findings import CheckResult, Diagnosis, DoctorSizes
from tests.support.memories import EAGER, QUICK, OpenMemory, OtherEmbedder, answers, assistant, ingest_month, user

NOW = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)
MANY = "a long turn " * 200


def found(diagnosis: Diagnosis, check: str) -> CheckResult:
    (one,) = (one for one in diagnosis.findings if one.check == check)
    return one


def wrong(diagnosis: Diagnosis) -> list[str]:
    return [one.check for one in diagnosis.findings if one.count]


@contextmanager
def tampering(path: Path) -> Iterator[apsw.Connection]:
    """Open the store's file with another connection."""
    connection = apsw.Connection(str(path / "memory.db"))
    connection.set_busy_timeout(10_000)
    yield connection
    connection.close()


def talk(memory: Memory) -> None:
    """Ingest turns that give records, one of them superseded, and a turn that is cut into passages."""
    memory.ingest_many(
        [
            user("The API of our shop runs on port 8080.", at=NOW - timedelta(days=9)),
            assistant("Noted.", at=NOW - timedelta(days=9)),
            user("The API of our shop runs on port 9090.", at=NOW - timedelta(days=8)),
            user("My sister Anna lives in Rome.", at=NOW - timedelta(days=7)),
            user("I prefer tea to coffee in the morning.", at=NOW - timedelta(days=6)),
            user("We walked along the harbour. " * 60, at=NOW - timedelta(days=5)),
        ],
        session="s1",
    )
    memory.flush()


@pytest.fixture
def patient(open_memory: OpenMemory) -> Memory:
    memory = open_memory(settings=EAGER, clock=FixedClock(NOW))
    talk(memory)
    assert wrong(memory.doctor()) == []
    return memory


@pytest.mark.slow
@pytest.mark.requirement("KEEP-3")
@pytest.mark.parametrize("tail", [1, 10_000])
def test_a_clean_store_is_healthy_without_findings(open_memory: OpenMemory, tail: int) -> None:
    settings = replace(QUICK, _tuning=(IndexSizes(tail=tail, vector_tail=tail),))
    memory = open_memory(settings=settings, clock=FixedClock(datetime(2026, 9, 2, tzinfo=UTC)))
    ingest_month(memory)
    memory.remember("Bree tuned pianos for nine years")
    memory.forget(memory.recent(1)[0].id)
    session = memory.recent(1)[0].session
    memory.compact(session, force=True)
    made = memory.doctor()
    assert made.healthy and made.memories > 100
    assert set(wrong(made)) <= {"stale"}, "some plans may have expired"
    memory.rebuild()
    assert set(wrong(memory.doctor())) <= {"stale"}


def test_an_empty_namespace_is_healthy(memory: Memory) -> None:
    made = memory.doctor()
    assert (made.healthy, made.memories, wrong(made)) == (True, 0, [])


@pytest.mark.requirement("KEEP-3")
def test_duplicates_are_found_and_different_values_are_not(patient: Memory) -> None:
    first = patient.remember("Deploys happen on Fridays at four")
    second = patient.remember("deploys happen on fridays, at four!")
    patient.remember("Our deploys happen on Fridays at four")
    patient.remember("Deploys happen on Mondays at four")
    made = patient.doctor()
    (copy,) = found(made, "duplicates").examples
    assert {copy.id, copy.why.split("'")[0].split()[-1].rstrip(":")} == {first.id, second.id}
    near = found(made, "near-duplicates")
    assert near.count == 1 and "Mondays" not in near.examples[0].text + near.examples[0].why
    assert not made.healthy and found(made, "duplicates").over


@pytest.mark.requirement("KEEP-3")
def test_junk_secrets_and_echoes_in_records_are_found(patient: Memory, tmp_path: Path) -> None:
    patient.ingest_many(
        [assistant("The harbour master keeps the spare key in the blue shed."), user("My cat is called Biscuit.")],
        session="s2",
    )
    patient.flush()
    with tampering(tmp_path) as file:
        _rewrite(file, "%Anna%", "thanks, that is great!")
        _rewrite(file, "%tea%", "the deploy token is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
        _rewrite(file, "%Biscuit%", "The harbour master keeps the spare key in the blue shed")
    made = patient.doctor()
    assert found(made, "junk").examples[0].why.startswith("reaction: ")
    (secret,) = found(made, "secrets").examples
    assert "ghp_" not in secret.text and "[secret: " in secret.text, "the doctor does not repeat it"
    assert found(made, "loops").examples[0].why == "it repeats what the assistant had just said"
    assert {"secrets", "word index"} <= {one.check for one in made.findings if one.over}


def _rewrite(file: apsw.Connection, like: str, text: str) -> None:
    file.execute("UPDATE records SET text = ? WHERE text LIKE ?", (text, like))
    assert file.changes() == 1


@pytest.mark.requirement("KEEP-3")
def test_expired_plans_are_stale_and_weekly_facts_are_not(open_memory: OpenMemory) -> None:
    clock = FixedClock(NOW)
    memory = open_memory(clock=clock)
    memory.remember("The dentist appointment is on 12 May 2026")
    memory.remember("Deploys happen every Friday, the next one on 8 May 2026")
    assert found(memory.doctor(), "stale").count == 0
    clock.advance(timedelta(days=60))
    (one,) = found(memory.doctor(), "stale").examples
    assert one.text == "The dentist appointment is on 12 May 2026" and "2026-05-12" in one.why


@pytest.mark.requirement("KEEP-3")
def test_an_ingested_context_frame_is_found(patient: Memory) -> None:
    patient.ingest("[[memory abcdefghijkl begins]]\nrecalled\n[[memory abcdefghijkl ends]]")
    assert found(patient.doctor(), "recalled frames in turns").count == 1


NS = 1
FIRST, SECOND, FOURTH = (vector_position(NS, 0, Space.TURN, num) for num in (1, 2, 4))
ANYONE = "SELECT id FROM records WHERE ns = 1 AND superseded_by IS NULL LIMIT 1"
OLD = "SELECT id FROM records WHERE ns = 1 AND superseded_by IS NOT NULL LIMIT 1"
FAULTS: dict[str, tuple[str, str]] = {
    "a successor that is not there": ("broken links", f"UPDATE records SET superseded_by = 'r-0' WHERE id = ({OLD})"),
    "a record that replaced itself": ("broken links", f"UPDATE records SET superseded_by = id WHERE id = ({OLD})"),
    "a replaced record that still holds": ("broken links", f"UPDATE records SET valid_to = NULL WHERE id = ({OLD})"),
    "a record of no turn": ("orphans", "DELETE FROM sources WHERE turn = 4"),
    "a link of no record": ("orphans", "INSERT INTO sources VALUES (1, 999, 1)"),
    "a record of a turn that is gone": ("orphans", "UPDATE sources SET turn = 999 WHERE turn = 4"),
    "a receipt of nothing": ("orphans", "INSERT INTO receipts VALUES (1, 'r-0', 1, 'recorded', '', NULL, NULL)"),
    "a count of no record": ("orphans", "INSERT INTO retrievals VALUES (1, 'r-0', 1, 1)"),
    "signals of no turn": ("orphans", f"INSERT INTO signals VALUES ({position(NS, 999)}, 1, '{{}}')"),
    "a vector of no turn": (
        "orphans", f"INSERT INTO vectors VALUES ({vector_position(NS, 0, Space.TURN, 999)}, zeroblob(1024))"
    ),
    "a vector of no record": (
        "orphans", f"INSERT INTO vectors VALUES ({vector_position(NS, 0, Space.RECORD, 999)}, zeroblob(1024))"
    ),
    "a passage of no turn": ("orphans", f"INSERT INTO passages VALUES ({position(NS, 999)}, 999, 0, 1)"),
    "no documents in the word index": ("word index", "DELETE FROM documents WHERE space = 0"),
    "a word that finds nothing": ("word index", "DELETE FROM postings WHERE space = 0 AND term = 'rome'"),
    "a record whose text changed behind the index": (
        "word index", f"UPDATE records SET text = text || ' indeed' WHERE id = ({ANYONE})"
    ),
    "a record that is trusted otherwise than indexed": (
        "word index", f"UPDATE records SET confidence = 0.1 WHERE id = ({ANYONE})"
    ),
    "a passage that is gone": ("word index", "DELETE FROM passages"),
    "a vector that is too short": (
        "unreadable vectors", f"UPDATE vectors SET data = zeroblob(10) WHERE pos = {FIRST}"
    ),
    "a vector without end": (
        "unreadable vectors", f"UPDATE vectors SET data = ? WHERE pos = {FIRST}"
    ),
    "a turn's vector that others borrow is gone": (
        "unreadable vectors", f"DELETE FROM vectors WHERE pos = {SECOND}"
    ),
    "a vector that is not there": (
        "vector index", f"DELETE FROM vectors WHERE pos = {vector_position(NS, 0, Space.RECORD, 2)}"
    ),
    "a block of the vector index that is gone": ("vector index", "DELETE FROM segments WHERE space = 3"),
    "a vector index of another vector": (
        "vector index", f"""UPDATE vectors SET data = (SELECT data FROM vectors WHERE pos = {FOURTH})
                            WHERE pos = {FIRST}"""
    ),
}  # fmt: skip


@pytest.mark.requirement("KEEP-3")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_repaired(
    open_memory: OpenMemory, patient: Memory, tmp_path: Path, fault: str
) -> None:
    before = answers(patient, ["port of the shop", "Anna", "harbour"])
    patient.close()
    check, sql = FAULTS[fault]
    with tampering(tmp_path) as file:
        nan = np.full(HashEmbedder().profile.dims, np.nan, "<f4").tobytes()
        file.execute(sql, (nan,) if "?" in sql else ())
        assert file.changes() > 0
    memory = open_memory(settings=EAGER, clock=FixedClock(NOW))
    made = memory.doctor()
    assert check in wrong(made) and not made.healthy
    assert found(made, check).fixable and found(made, check).examples
    healed = memory.doctor(fix=True)
    assert check in healed.fixed and wrong(healed) == [] and healed.healthy
    assert _without_receipts(answers(memory, ["port of the shop", "Anna", "harbour"])) == _without_receipts(before)


def _without_receipts(said: object) -> object:
    assert isinstance(said, dict)
    return {name: value for name, value in said.items() if name != "why"}


@pytest.mark.requirement("KEEP-3", "RECALL-12")
def test_vectors_of_another_model_are_reported_and_can_be_dropped(open_memory: OpenMemory, patient: Memory) -> None:
    patient.close()
    other = open_memory(settings=EAGER, embedder=OtherEmbedder(), clock=FixedClock(NOW))
    other.flush()
    made = other.doctor()
    mixed = found(made, "mixed fingerprints")
    assert mixed.count > 0 and made.healthy, "they are never compared: they only take space"
    healed = other.doctor(fix=True)
    assert healed.fixed == ("mixed fingerprints",) and other.search("Anna")


@pytest.mark.requirement("KEEP-3")
def test_a_store_that_is_behind_is_unhealthy_and_still_audited(open_memory: OpenMemory) -> None:
    settings = replace(QUICK, doctor=DoctorSizes(wait_s=0.2))
    memory = open_memory(embedder=FailingEmbedder(down=True), settings=settings)
    memory.ingest("My sister Anna lives in Rome.")
    made = memory.doctor()
    assert not made.healthy and "behind" in wrong(made)


@pytest.mark.requirement("KEEP-3")
def test_failed_integrity_checks_of_the_engine_are_reported(patient: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "check", lambda _: ["row 3 missing from index log_by_id"])
    made = patient.doctor()
    assert not made.healthy and found(made, "integrity").examples[0].why == "row 3 missing from index log_by_id"


@pytest.mark.requirement("KEEP-3", "ADMIT-7")
def test_secrets_in_turns_are_reported_if_redaction_is_on(open_memory: OpenMemory) -> None:
    secret = "the token is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    open_memory().ingest(secret)
    strict = replace(QUICK, log=replace(QUICK.log, redact_secrets=True))
    assert found(open_memory(settings=strict).doctor(), "secrets in turns").count == 1


@pytest.mark.requirement("KEEP-3")
def test_the_limits_decide_whether_a_store_is_healthy(open_memory: OpenMemory) -> None:
    settings = replace(QUICK, doctor=DoctorSettings(max_duplicates=0.6))
    memory = open_memory(settings=settings)
    memory.remember("Deploys happen on Fridays")
    memory.remember("Deploys happen on Fridays.")
    assert memory.doctor().healthy
    assert not open_memory().doctor().healthy


@pytest.mark.requirement("KEEP-3", "INV-4")
def test_the_doctor_neither_reads_nor_changes_other_namespaces(open_memory: OpenMemory, patient: Memory) -> None:
    other = open_memory("ben", settings=EAGER)
    talk(other)
    before = answers(other, ["Anna"])
    patient.remember("Deploys happen on Fridays")
    patient.remember("Deploys happen on Fridays!")
    patient.doctor(fix=True)
    assert answers(other, ["Anna"]) == before and wrong(other.doctor()) == []


def test_findings_give_record_ids_that_can_be_forgotten(patient: Memory) -> None:
    patient.remember("Deploys happen on Fridays")
    patient.remember("Deploys happen on Fridays!")
    (copy,) = found(patient.doctor(), "duplicates").examples
    assert copy.id.startswith("r-") and len(copy.id) == len(new_id("r", NOW))
    patient.forget(copy.id)
    assert patient.doctor().healthy
