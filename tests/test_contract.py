"""The contract is what the typed definitions say, and what the verbs really print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from holdfast.cli import main
from holdfast_bench.contract import SHAPES, examples, schema, write

FOLDER = Path(__file__).parents[1] / "contract"
pytestmark = pytest.mark.requirement("API-1")


def validate(name: str, document: object) -> None:
    committed = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(committed).validate(document)


@pytest.mark.parametrize("name", SHAPES)
def test_the_committed_schema_is_the_one_the_types_give(name: str) -> None:
    committed = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(committed)
    assert committed == schema(name), "run `make contract` and look at the difference"


@pytest.mark.parametrize("name", SHAPES)
def test_the_committed_example_fits_its_schema(name: str) -> None:
    validate(name, json.loads((FOLDER / f"{name}.example.json").read_text(encoding="utf-8")))


def test_examples_come_out_the_same_twice() -> None:
    assert examples() == examples()


def test_a_schema_refuses_unknown_fields() -> None:
    example = json.loads((FOLDER / "search.example.json").read_text(encoding="utf-8"))
    checker = Draft202012Validator(schema("search"))
    assert not checker.is_valid({**example, "surprise": 1})
    assert not checker.is_valid({"hits": []})


def test_the_generator_is_a_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holdfast_bench.contract", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {path.name for path in FOLDER.iterdir()} == {path.name for path in write(tmp_path / "again")}


def test_every_verb_prints_what_its_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "ana")
    talk = tmp_path / "talk.jsonl"
    lines = [
        {"role": "user", "content": "I moved to Lisbon", "session": "s", "metadata": {"deep": [1, {"x": None}]}},
        {"role": "assistant", "content": "Noted.", "session": "s", "key": "k"},
    ]
    talk.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def run(name: str, *args: str) -> dict[str, object]:
        main([*args, "--json"])
        document = json.loads(capsys.readouterr().out)
        validate(name, document)
        assert isinstance(document, dict)
        return document

    run("ingest", "ingest", str(talk))
    record = run("remember", "remember", "Ana lives in Lisbon")["id"]
    hits = run("search", "search", "Lisbon")["hits"]
    assert isinstance(hits, list) and "fact" in {hit["kind"] for hit in hits}
    (turn, *_) = next(hit["turn_ids"] for hit in hits if hit["turn_ids"])
    for kind in ("turn", "exchange", "record"):
        assert run("recent", "recent", "--kind", kind)[f"{kind}s"]
    run("thread", "thread", "s")
    for noun in (turn, record):
        run("why", "why", str(noun))
        run("forget", "forget", str(noun))
        run("forget", "forget", str(noun), "--undo")
        run("why", "why", str(noun))
        run("history", "history", str(noun))
    run("stats", "stats")
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"g": 0.4, "useful": true}\n')
    run("calibrate", "calibrate")
    run("calibrate", "calibrate", "--labels", str(labels))
    run("tune-similarity", "tune", "similarity")
    run("themes", "themes")
    run("eval-init", "eval", "init", str(tmp_path / "probes.jsonl"))
    probes = str(tmp_path / "asked.jsonl")
    asked = [{"question": f"Lisbon {number}", "expect": str(turn)} for number in range(8)]
    Path(probes).write_text("".join(json.dumps(one) + "\n" for one in asked))
    run("eval-run", "eval", "run", probes, "--save-baseline", str(tmp_path / "baseline.json"))
    run("eval-gate", "eval", "gate", probes, "--baseline", str(tmp_path / "baseline.json"))
    run("eval-sweep", "eval", "sweep", probes, "--try", "words=.4")
    run("eval-noise", "eval", "noise", probes)
    judged = tmp_path / "judged.jsonl"
    judged.write_text('{"role": "user", "content": "I moved to Lisbon", "facts": ["moved to Lisbon"]}\n')
    run("eval-extractors", "eval", "extractors", str(judged), "--second", "rules")
    assert run("compact", "compact", "s", "--force")["did_compact"] is False
    run("active", "active", "s")
    run("expand", "expand", str(turn))
    run("janitor", "janitor", "--dry-run")
    run("doctor", "doctor")
    run("status", "status", "--check")
    run("status", "status")
    run("store-rebuild", "store", "rebuild")


def test_an_error_is_what_its_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "memory.db"))
    for args in (["why", "t-0", "-n", "ana"], ["why"], ["why", "t-0"]):
        assert main([*args, "--json"]) > 0
        validate("error", json.loads(capsys.readouterr().err))
