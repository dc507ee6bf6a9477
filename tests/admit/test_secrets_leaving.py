"""No secret leaves for a model or a page, of 80 kinds that others wrote; ordinary sentences stay as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.admit.redact import masked
from holdfast.admit.secrets import mask
from holdfast.memory import Memory
from holdfast.settings import ContextSettings, LogSettings
from tests.serve.inspector.inspector_site import open_site
from tests.serve.mcp.mcp_peers import in_process, text_of
from tests.support.memories import QUICK, OpenMemory, user

pytestmark = pytest.mark.requirement("TRUST-4", "ADMIT-7")

DATA = Path(__file__).parents[1] / "data"
MOST_IN_CLEAR = 2
"""Of 80 kinds: the values are written as people write them, and some only look like words."""


class SecretKind(NamedTuple):
    kind: str
    text: str
    secret: str


def _rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


KINDS = [SecretKind(**row) for row in _rows("secrets.jsonl")]


def in_clear(shown: str) -> list[str]:
    """Return the kinds whose value is there, other than as a part of an id, a time or a score."""
    return [one.kind for one in KINDS if _needle(one) in shown]


def _needle(one: SecretKind) -> str:
    """Return the secret, with what stands before it if it is as short as a part of an id, a time or a score."""
    at = one.text.index(one.secret)
    return one.secret if len(one.secret) > 8 else one.text[max(at - 6, 0) : at + len(one.secret)]


def test_the_secrets_of_80_kinds_are_masked() -> None:
    assert len(KINDS) == 80 == len({one.kind for one in KINDS})
    assert len(in_clear("\n\n".join(mask(one.text).text for one in KINDS))) <= MOST_IN_CLEAR


def test_200_ordinary_sentences_raise_no_alarm() -> None:
    sentences = [row["text"] for row in _rows("not_secrets.jsonl")]
    assert len(sentences) == 200
    assert [text for text in sentences if mask(text).found] == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("WLAN-Schlüssel: 63829104756281930475", "63829104756281930475"),
        ("Der Code für die Haustür lautet 55831.", "55831"),
        ("Kartennummer 4111111111111111, Prüfziffer 881", "881"),
        ("My luggage lock is 0 4 2.", "0 4 2"),
        ("passphrase: nine purple otters dance", "purple otters"),
        ("The passphrase of the archive is nine purple otters dance.", "purple otters"),
        ("My health card is 1234-567-897-AB.", "1234-567-897"),
        ("routing 021000021 account 4839201745", "4839201745"),
        ("My account number is 4839201745.", "4839201745"),
        ("My NI number is AB 12 34 56 C.", "12 34 56"),
    ],
)
def test_a_secret_that_is_named_is_masked(text: str, secret: str) -> None:
    assert secret not in mask(text).text


@pytest.mark.parametrize(
    "text",
    [
        "The passphrase is kept in the safe of the office.",
        "A passphrase is easier to remember than a password.",
        "I lost the key of my bike lock on day 112 of the trip.",
        "Der Code für das Haus ist noch nicht fertig.",
        "We have 4839201 accounts, and account 17 is mine.",
        "The health of the card game depends on 1200 players.",
    ],
)
def test_talk_about_secrets_is_no_secret(text: str) -> None:
    assert mask(text).text == text


@pytest.fixture
def told(open_memory: OpenMemory) -> Iterator[Memory]:
    """A memory in which every kind was said, and remembered."""
    patient = replace(QUICK, context=ContextSettings(deadline_s=60.0, embedder_s=20.0))
    memory = open_memory(embedder="static", settings=patient)
    for one in KINDS:
        memory.ingest(one.text, session=f"about {one.kind}", metadata={"speaker": "Ana"})
        memory.remember(f"Keep this: {one.text}")
    memory.flush()
    yield memory


@pytest.mark.slow
def test_contexts_and_standing_sections_hold_no_secret(told: Memory) -> None:
    shown = [told.standing(20_000).text]
    for one in KINDS:
        made = told.context([user(f"What did I say about {one.text[:40]}?")], session=f"about {one.kind}", budget=4000)
        assert made.text
        shown.append(repr((made.text, made.receipt.items, made.receipt.candidates)))
    assert len(in_clear("\n".join(shown))) <= MOST_IN_CLEAR


@pytest.mark.slow
def test_what_mcp_answers_holds_no_secret(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", embedder="static", settings=QUICK) as memory:
        turns = [memory.ingest(one.text, session=one.kind) for one in KINDS]
        memory.flush()
    asked: list[tuple[str, dict[str, object]]] = [("search", {"query": one.text[:60]}) for one in KINDS]
    asked += [("recent", {"limit": 100}), ("themes", {"since": "1 day ago"}), ("why", {"id": turns[0].id})]
    with in_process(tmp_path / "memory.db", embedder="static") as model:
        shown: list[str] = []
        for verb, payload in asked:
            result = model.ask(f"memory_{verb}", payload)
            assert not result.is_error
            shown += [text_of(result), json.dumps(result.structured_content, ensure_ascii=False)]
        shown += [model.read(f"memory://record/{turn.id}") for turn in turns]
        shown += [model.read(f"memory://session/{one.kind}") for one in KINDS]
    assert len(in_clear("\n".join(shown))) <= MOST_IN_CLEAR


def test_themes_hold_no_secret(told: Memory) -> None:
    assert len(in_clear(repr(told.themes("1 day ago", digest=False)))) <= MOST_IN_CLEAR


@pytest.mark.slow
def test_pages_hold_no_secret_until_they_are_revealed(tmp_path: Path) -> None:
    with open_site(tmp_path, QUICK) as site:
        turns = [site.memory.ingest(one.text, session=one.kind) for one in KINDS]
        site.memory.flush()
        shown = [site.client.get("/inspector/timeline").text, site.client.get("/").text]
        shown += [site.client.get(f"/inspector/turn?id={turn.id}").text for turn in turns]
        shown += [site.client.get(f"/inspector/text?id={turn.id}").text for turn in turns]
        assert len(in_clear("\n".join(shown))) <= MOST_IN_CLEAR
        door = next(number for number, one in enumerate(KINDS) if one.kind == "door_code")
        page = site.client.get(f"/inspector/turn?id={turns[door].id}").text
        assert "Reveal secrets" in page and KINDS[door].secret not in page
        page = site.client.get(f"/inspector/turn?id={turns[door].id}&reveal=1").text
        assert "Reveal secrets" not in page and KINDS[door].secret in page


@pytest.mark.parametrize("write", [Memory.export, Memory.backup], ids=["export", "backup"])
def test_redaction_covers_metadata_memories_sessions_and_keys(
    open_memory: OpenMemory, tmp_path: Path, write: Callable[[Memory, Path], object]
) -> None:
    key = "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000"
    other = key.replace("0000", "1111")
    memory = open_memory(settings=replace(QUICK, log=LogSettings(redact_secrets=True)))
    memory.ingest("hello", session=f"s {key}", key=f"k {key}", metadata={"note": {"deep": [f"it is {key}"]}})
    memory.ingest("hello there", metadata={key: 1, "login": {"user": "ana", "password": "hunter2fake"}})
    memory.ingest("hello again", session=f"s {other}", key=f"k {other}")
    memory.remember(f"The token is {key}", key=f"m {key}", metadata={"token": key})
    assert [turn.text for turn in memory.thread(f"s {key}")] == ["hello"]  # the same name finds it again
    assert memory.thread(f"s {other}")[0].session != memory.thread(f"s {key}")[0].session
    assert memory.remember("once more", key=f"m {key}").text == "The token is [secret: github token]"
    write(memory, tmp_path / "copy")
    assert not any(one in (tmp_path / "copy").read_bytes() for one in (b"FAKEfakeFAKE", b"hunter2fake"))


def test_an_import_is_redacted_like_what_is_ingested(open_memory: OpenMemory, tmp_path: Path) -> None:
    plainly = open_memory("ben", file="plain.db")
    plainly.ingest("my password is hunter2", session="s", metadata={"was": "sk-proj-FAKEfakeFAKE0123456789abcdef"})
    plainly.remember("The door code is 4471#")
    plainly.export(tmp_path / "log.jsonl")
    memory = open_memory(settings=replace(QUICK, log=LogSettings(redact_secrets=True)))
    memory.import_file(tmp_path / "log.jsonl")
    memory.export(tmp_path / "again.jsonl")
    copied = (tmp_path / "again.jsonl").read_text()
    assert not any(secret in copied for secret in ("hunter2", "FAKEfake", "4471#"))
    assert copied.count("[secret: ") == 3


def test_masking_a_value_keeps_what_has_no_secret() -> None:
    value = {"a": ["x", ("y", 3)], "b": None}
    assert masked(value) == value
    assert masked(named := {"session_id": "8f3a9c2be1d04f77a6", "password": "none", "pin": "a", "at": "4471"}) == named
    assert masked({"a": [{"b": "my PIN is 4471"}]}) == {"a": [{"b": "my PIN is [secret: pin]"}]}
