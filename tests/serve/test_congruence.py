"""Every verb answers the same in process and over JSON-RPC, and as its schema says."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import cast

import jsonschema
import pytest

from holdfast.errors import HoldfastError
from holdfast.memory import Memory
from holdfast.serve.inputs import input_class, input_schema, read_arguments
from holdfast.serve.reference import ABOUT, PARAMETERS
from holdfast.serve.verbs import VERBS, Danger, schema
from tests.serve.congruence import SETTINGS, Payload, bad_calls, calls, differences, in_process, twins
from tests.serve.in_process import call
from tests.serve.peers import Answer, OpenPeer


@pytest.mark.requirement("API-1", "API-2")
def test_rpc_answers_as_verbs_do_in_process(tmp_path: Path, open_peer: OpenPeer) -> None:
    one, other, known = twins(tmp_path)
    peer = open_peer(file=other.name, embedder="static", settings=SETTINGS)
    with Memory(one, "ana", embedder="static", settings=SETTINGS) as memory:

        def over_rpc(verb: str, payload: Payload) -> object:
            return peer.call(f"memory.{verb}", **payload)

        assert list(differences(in_process(memory), over_rpc, known)) == []
        for verb, payload, kind in bad_calls(known):
            with pytest.raises(HoldfastError) as raised:
                call(VERBS[verb], memory, payload)
            assert type(raised.value).__name__ == kind, (verb, payload)
            error = peer.error(f"memory.{verb}", **payload)
            assert error["message"] == str(raised.value)
            assert cast("Answer", error["data"])["type"] == kind


@pytest.mark.requirement("API-1")
def test_every_verb_has_a_congruence_call() -> None:
    known = {"turn": "t", "record": "r", "summary": "s"}
    assert {verb for verb, _ in calls(known)} == VERBS.keys()


@pytest.mark.requirement("API-1")
def test_inputs_and_answers_match_their_schemas(tmp_path: Path) -> None:
    one, _, known = twins(tmp_path)
    with Memory(one, "ana", embedder="static", settings=SETTINGS) as memory:
        for verb, payload in calls(known):
            shapes = schema(verb)
            jsonschema.Draft202012Validator(shapes.input).validate(payload)
            jsonschema.Draft202012Validator(shapes.output).validate(call(VERBS[verb], memory, payload))


@pytest.mark.requirement("API-1")
def test_every_verb_and_field_has_a_description() -> None:
    for verb in VERBS.values():
        assert verb.about.endswith(".") and "\n" not in verb.about
        fields = cast("dict[str, Answer]", schema(verb.name).input["properties"] if verb.fields else {})
        assert list(fields) == list(verb.fields)
        assert all(field.get("description") for field in fields.values()), verb.name
    assert [verb.name for verb in VERBS.values() if verb.danger is Danger.DESTROYS] == ["erase"]


@pytest.mark.requirement("API-1")
def test_every_parameter_of_a_verb_is_offered_and_has_a_help_text() -> None:
    assert ABOUT.keys() == PARAMETERS.keys() == VERBS.keys()
    for verb in VERBS.values():
        _, *declared = inspect.signature(verb.call).parameters
        offered = ["noun_id" if name == "id" else name for name in verb.fields]
        assert sorted(declared) == sorted([*offered, *verb.server_side, *({"progress"} & set(declared))]), verb.name


@pytest.mark.requirement("API-1")
def test_a_parameter_needs_only_its_declaration_and_help_text() -> None:
    def search(memory: Memory, query: str, fuzzy: bool = False, since: str | None = None) -> None: ...

    made = input_class("search", search, {"query": "The question.", "fuzzy": "Allow typing errors."})
    assert input_schema(made)["properties"] == {
        "query": {"description": "The question.", "type": "string"},
        "fuzzy": {"default": False, "description": "Allow typing errors.", "type": "boolean"},
    }
    assert read_arguments(made, {"query": "where?"}, "search") == {"query": "where?", "fuzzy": False}
