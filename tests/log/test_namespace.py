"""Resolution of the namespace, in a fixed order and without guessing."""

from __future__ import annotations

import getpass
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import InputError, NamespaceRequired
from holdfast.log.messages import resolve_namespace
from holdfast.memory import Memory
from holdfast.settings import LogSettings
from tests.support.memories import QUICK


def resolved(**given: str | None) -> str:
    return resolve_namespace(given.pop("user", None), **given, settings=LogSettings())


@pytest.mark.requirement("LOG-6")
def test_namespace_order_is_user_session_key_agent_default() -> None:
    assert resolved(user="u", session_key="s", agent="a", default="d") == "u"
    by_session = resolved(session_key="s", agent="a", default="d")
    by_agent = resolved(agent="a", default="d")
    assert by_session == resolved(session_key="s")
    assert by_agent == resolved(agent="a")
    assert resolved(default="d") == "d"
    assert len({"u", by_session, by_agent, "d"}) == 4


@pytest.mark.requirement("LOG-6", "INV-4")
def test_a_session_key_an_agent_and_a_user_with_one_name_are_three_namespaces() -> None:
    assert len({resolved(user="x"), resolved(session_key="x"), resolved(agent="x")}) == 3


@pytest.mark.requirement("LOG-6", "INV-4")
def test_no_name_at_all_is_an_error_and_the_login_is_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: pytest.fail("the login was asked for"))
    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(name, "root")
    with pytest.raises(NamespaceRequired, match="HOLDFAST_NAMESPACE"):
        Memory(tmp_path / "m.db", settings=QUICK, embedder="none")
    assert not (tmp_path / "m.db").exists()


@pytest.mark.requirement("LOG-6")
def test_the_default_of_the_operator_is_used_when_nothing_else_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "house")
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        assert memory.namespace == "house"
    with Memory(tmp_path / "m.db", agent="a7", embedder="none") as memory:
        assert memory.namespace == resolved(agent="a7")
    with Memory(tmp_path / "m.db", settings=replace(QUICK, namespace="named"), embedder="none") as memory:
        assert memory.namespace == "named"


@pytest.mark.requirement("LOG-6", "SAFE-4")
@pytest.mark.parametrize("name", ["", "  ", "\n", "a\x00b", "\ud800", "x" * 1025, 7, b"ana"])
@pytest.mark.parametrize("way", ["user", "session_key", "agent", "default"])
def test_an_invalid_name_is_refused_and_does_not_fall_through_to_the_next(way: str, name: object) -> None:
    with pytest.raises(InputError):
        resolved(**{"default": "d", way: name})  # type: ignore[arg-type]


@pytest.mark.requirement("INV-4")
@pytest.mark.parametrize("other", ["al", "alice ", "Alice", "alicé", "alice%", "alic_", "*", "%"])
def test_similar_names_are_different_namespaces(tmp_path: Path, other: str) -> None:
    with (
        Memory(tmp_path / "m.db", "alice", settings=QUICK, embedder="none") as alice,
        Memory(tmp_path / "m.db", other, settings=QUICK, embedder="none") as stranger,
    ):
        turn = alice.ingest("the berth is seven", session="s")
        assert stranger.recent() == []
        assert stranger.thread("s") == []
        assert list(stranger.search("berth")) == []
        with pytest.raises(KeyError):
            stranger.why(turn.id)
        with pytest.raises(KeyError):
            stranger.forget(turn.id)
        assert stranger.status().turns == 0
        assert len(alice.search("berth")) == 1
