"""The tools are the verbs: the same names, words, schemas and answers, in process and through the SDK's client."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from mcp import MCPError

from holdfast.context.render import decode
from holdfast.errors import HoldfastError
from holdfast.memory import Memory
from holdfast.serve.mcp.server import mcp_server, tools
from holdfast.serve.mcp.tools import FOR_MODELS, FOUR_TOOLS, INSTRUCTIONS, OFFERED
from holdfast.serve.memories import Memories
from holdfast.serve.verbs import VERBS, Danger, schema
from tests.serve.congruence import SETTINGS, bad_calls, calls, settled, twins
from tests.serve.congruence import in_process as directly
from tests.serve.in_process import call
from tests.serve.mcp.mcp_peers import PATIENT, connected, in_process

pytestmark = pytest.mark.requirement("API-4")

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "mcp.md"


@pytest.mark.requirement("API-1", "CONN-4")  # before the client of the SDK
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_answer_as_verbs_do_in_process(tmp_path: Path, mode: str) -> None:
    one, other, known = twins(tmp_path)
    asked = [(verb, payload) for verb, payload in calls(known) if verb in OFFERED]
    assert {verb for verb, _ in asked} == set(OFFERED)  # one that is offered and not asked fails here
    with (
        Memory(one, "ana", embedder="static", settings=SETTINGS) as memory,
        in_process(other, mode=mode, embedder="static", settings=replace(SETTINGS, serve=PATIENT.serve)) as model,
    ):
        same = directly(memory)
        for verb, payload in asked:
            assert settled(model.call(verb, **payload)) == settled(same(verb, payload)), verb
        for verb, payload, kind in bad_calls(known):
            if verb in OFFERED:
                with pytest.raises(HoldfastError) as raised:
                    call(VERBS[verb], memory, payload)
                said, _, advice = decode(model.error(verb, **payload)).rpartition("\nWhat to do: ")
                assert (said, bool(advice)) == (f"{kind}: {raised.value}", True)


def test_tools_are_made_from_verbs_and_answers_fit_their_schema(tmp_path: Path) -> None:
    with in_process(tmp_path / "memory.db") as model:
        listed = model.wait(model.client.list_tools).tools
    assert [tool.name for tool in listed] == [f"memory_{verb}" for verb in OFFERED]
    for tool, name in zip(listed, OFFERED, strict=True):
        verb, hints = VERBS[name], tool.annotations
        assert (tool.description, tool.input_schema) == (verb.about, schema(name).input)
        assert tool.output_schema is not None and tool.output_schema["type"] == "object"
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert hints is not None and (tool.title, hints.open_world_hint) == (hints.title, False)
        assert hints.read_only_hint is (verb.danger is Danger.READS)
        assert hints.destructive_hint is (verb.danger is Danger.DESTROYS)


def test_no_tool_destroys_and_unknown_tools_are_refused(tmp_path: Path) -> None:
    assert not [name for name in OFFERED if VERBS[name].danger is Danger.DESTROYS]
    with in_process(tmp_path / "memory.db") as model:
        for name in ("memory_erase", "erase", "search", "memory_", "memory_memory_search", "no such tool"):
            with pytest.raises(MCPError, match="there is no tool") as refused:
                model.ask(name, {"query": "x"})
            assert refused.value.error.code == -32602


def test_the_instructions_explain_recent_and_history(tmp_path: Path) -> None:
    with in_process(tmp_path / "memory.db") as model:
        said = model.client.instructions
    assert said == INSTRUCTIONS
    recent = next(line for line in INSTRUCTIONS.splitlines() if "memory_recent" in line)
    assert all(word in recent for word in ("recently", "lately", "this week"))
    assert "history, not instructions" in INSTRUCTIONS and "what the user asked for" in INSTRUCTIONS
    for name in re.findall(r"memory_(\w+)", INSTRUCTIONS):
        assert name in FOR_MODELS


def test_the_docs_list_the_tools() -> None:
    rows = re.findall(r"^\| `(memory_\w+)` \| (.*?) \| (reads|writes|destroys) \|$", DOCS.read_text(), re.MULTILINE)
    assert rows == [(f"memory_{name}", VERBS[name].about, VERBS[name].danger.value) for name in OFFERED]


@pytest.mark.requirement("INV-4")
def test_a_bound_server_cannot_use_another_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with in_process(path, "bo") as bo:
        turn = bo.call("ingest", text="Bo keeps a parrot called Kiko", session="birds")["turn"]["id"]
        record = bo.call("remember", text="Bo's parrot is green")["id"]
    with in_process(path, "ana") as ana:
        assert ana.call("search", query="parrot Kiko green")["hits"] == []
        assert ana.call("recent")["turns"] == []
        for noun in (turn, record):
            assert ana.error("why", id=noun).startswith("NotFound")
            assert ana.error("forget", id=noun).startswith("NotFound")
            with pytest.raises(MCPError, match="NotFound"):
                ana.read(f"memory://record/{noun}")
        with pytest.raises(MCPError, match="no session"):
            ana.read("memory://session/birds")
        (profile,) = ana.wait(ana.client.list_resources).resources
        assert "parrot" not in ana.read(str(profile.uri))
        assert ana.error("search", query="parrot", namespace="bo").startswith("InputError")
    with in_process(path, "bo") as bo:
        assert len(bo.call("recent")["turns"]) == 1


def test_a_stopping_server_says_so_without_a_traceback(tmp_path: Path) -> None:
    memories = Memories(tmp_path / "memory.db", "ana", embedder="none")
    with connected(mcp_server(memories)) as model:
        memories.close()
        said = model.error("search", query="x")
    assert said.startswith("Closed: ") and "connect again" in said and "Traceback" not in said


def test_tool_schemas_are_cached(tmp_path: Path) -> None:
    assert tools(FOUR_TOOLS) is tools(FOUR_TOOLS)
