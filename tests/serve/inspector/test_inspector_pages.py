"""Every page of the inspector: with nothing, one thing and many things in memory, and with hostile ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.errors import ModelError
from holdfast.serve.inspector.views import InspectorSizes
from holdfast.settings import AdmitSettings, ChatSettings
from holdfast.testing import FailingEmbedder
from tests.serve.inspector.inspector_site import LISTS, Site, open_site
from tests.support.hostile_texts import HOSTILE
from tests.support.memories import QUICK, assistant, user

MAY = datetime(2026, 5, 1, tzinfo=UTC)
SMALL = replace(QUICK, _tuning=(InspectorSizes(page=7),))
"""Short pages, so that a few dozen things fill several."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path, SMALL) as opened:
        yield opened


def fill(site: Site, count: int) -> None:
    """Store `count` turns in a third as many sessions, and as many records."""
    for number in range(count):
        at = MAY + timedelta(hours=number)
        site.memory.ingest(f"Is the harbour light number {number} green?", session=f"s{number // 3}", at=at)
        site.memory.remember(f"Light number {number} stands on the pier", kind="fact")
    site.memory.flush()


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize("count", [0, 1, 40])
def test_every_page_opens_with_few_and_many_records(site: Site, count: int) -> None:
    fill(site, count)
    addresses = list(LISTS)
    for start, listed in (("/inspector/session?", "/inspector/sessions"), ("/inspector/record?", "/inspector/records"),
                          ("/inspector/turn?", "/inspector/timeline")):  # fmt: skip
        addresses += site.get(listed).links(start)[:2]
    assert len(addresses) == len(LISTS) + (0, 3, 6)[min(count, 2)]
    for address in addresses:
        page = site.get(address)
        assert (address, page.status, page.dangers()) == (address, 200, [])
        assert ("title", {}) in page.elements


@pytest.mark.requirement("API-5", "SAFE-3")
def test_every_response_has_the_strict_policy(site: Site) -> None:
    fill(site, 1)
    asked = [
        *(site.client.get(address) for address in LISTS),
        site.client.get("/inspector/record?id=nobody"),
        site.client.get("/static/inspector.css"),
        site.client.get("/static/nothing.css"),
        site.client.post("/inspector/forget", data={"id": "nobody"}),
        site.client.post("/login", data={"token": "wrong"}),
        site.client.post("/logout"),
    ]
    for answer in asked:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize(
    ("address", "start", "count"),
    [
        ("/inspector/timeline", "/inspector/turn?", 40),
        ("/inspector/records", "/inspector/record?", 40),
        ("/inspector/sessions", "/inspector/session?", 14),
    ],
)
def test_lists_can_be_read_to_the_end_page_by_page(site: Site, address: str, start: str, count: int) -> None:
    fill(site, 40)
    pages = site.leaf(address)
    listed = [link for page in pages for link in page.links(start) if "&" not in link]
    if "timeline" in address:  # a turn's page names it once for each place it is shown in
        listed = list(dict.fromkeys(listed))
    assert len(pages) == -(-count // 7)
    assert len(listed) == len(set(listed)) == count


@pytest.mark.requirement("API-5", "RECALL-6")
def test_a_session_page_shows_turns_in_order(site: Site) -> None:
    messages = [say(f"line {number}") for number in range(10) for say in (user, assistant)]
    site.memory.ingest_many(messages, session="a/b ?&#\"'<i>")
    address = site.get("/inspector/sessions").links("/inspector/session?")[0]
    text = "".join(page.text for page in site.leaf(address))
    places = [text.index(f"line {number}") for number in range(10)]
    assert places == sorted(places)
    assert text.count("line 3") == 2


@pytest.mark.requirement("API-5")
def test_the_timeline_opens_at_a_given_day(site: Site) -> None:
    fill(site, 40)
    text = site.get("/inspector/timeline?day=2026-05-01").text
    assert "number 23 green?" in text and "number 24 green?" not in text
    assert site.get("/inspector/timeline?day=soon").status == 422


HOSTILE_MARKUP = (
    "<script>document.title='taken'</script>",
    '"><img src=x onerror="document.title=\'taken\'">',
    "'><svg/onload=alert(1)>",
    "</textarea></title><script>alert(2)</script>",
    "{{ 7 * 7 }}{% for x in (1,) %}",
    "javascript:alert(3)",
    '<a hx-get="https://elsewhere.example" hx-trigger="load">',
    "\u202eright to left\u202c \u2067\u05e9\u05dc\u05d5\u05dd\u2069 \u0645\u0631\u062d\u0628\u0627",
)


@pytest.mark.requirement("API-5", "SAFE-4", "INV-2")
def test_stored_markup_is_shown_as_text(site: Site) -> None:
    for text in HOSTILE_MARKUP:
        name = text.replace("\x00", "")[:100]
        site.memory.ingest(text, session=name, metadata={"speaker": text, text[:20]: text})
        site.memory.ingest(f"I prefer {text} to everything else", session=name)
        site.memory.remember(text, kind="guidance", metadata={"note": text})
    site.memory.flush()
    addresses = [*LISTS, "/inspector/search?q=%3Cscript%3Ealert(1)%3C/script%3E&kind=turn"]
    for start, listed in (("/inspector/session?", "/inspector/sessions"), ("/inspector/record?", "/inspector/records"),
                          ("/inspector/turn?", "/inspector/timeline")):  # fmt: skip
        addresses += [link for page in site.leaf(listed) for link in page.links(start)]
    seen = ""
    for address in addresses:
        page = site.get(address)
        assert (address, page.status, page.dangers()) == (address, 200, [])
        seen += page.text
    for text in HOSTILE_MARKUP:
        assert text in seen


@pytest.mark.requirement("API-5", "SAFE-4")
def test_hostile_texts_are_shown_without_harm(site: Site) -> None:
    kept = [text for _, text in HOSTILE if text.strip() and "\x00" not in text]
    site.memory.ingest_many([user(text) for text in kept], session="hostile")
    for page in [*site.leaf("/inspector/session?name=hostile"), *site.leaf("/inspector/timeline")]:
        assert (page.status, page.dangers()) == (200, [])


@pytest.mark.requirement("API-5", "SAFE-4")
def test_a_long_text_is_shortened_and_can_be_downloaded(tmp_path: Path) -> None:
    text = "the harbour is wide \u2014 " * 455_000
    with open_site(tmp_path, embedder="none") as site:  # what it means is of no matter here, and takes seconds
        turn = site.memory.ingest(text, session="long")
        for address in ("/", "/inspector/timeline", "/inspector/session?name=long", f"/inspector/turn?id={turn.id}"):
            answer = site.client.get(address)
            assert answer.status_code == 200
            assert len(answer.content) < 100_000
            assert f"/inspector/text?id={turn.id}" in answer.text
        whole = site.client.get(f"/inspector/text?id={turn.id}")
    assert whole.text == text
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["content-disposition"].startswith("attachment")


@pytest.mark.requirement("API-5")
def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    chat = ChatSettings(model="http://me:hunter2@127.0.0.1:9/v1#small")
    with open_site(tmp_path, replace(QUICK, chat=chat, admit=AdmitSettings(enabled=False))) as site:
        text = site.get("/inspector/settings").text
    assert "hunter2" not in text
    assert "***@127.0.0.1:9/v1#small" in text
    assert "changed" in text and "weights.novelty" in text


@pytest.mark.requirement("API-5", "AUTH-1")
def test_rule_files_are_shown_by_kind(tmp_path: Path) -> None:
    rules = tmp_path / "AGENTS.md"
    rules.write_text("# House\n\n- Never <b>book</b> without asking.\n\n> Prefer trains.\n\nLisbon is sunny.\n")
    with open_site(tmp_path, rules=(str(rules),)) as site:
        page = site.get("/inspector/guidance")
    assert page.dangers() == []
    assert "Never <b>book</b> without asking." in page.text
    for kind in ("hard", "soft", "variant"):
        assert kind in page.text


@pytest.mark.requirement("API-5", "COMP-7")
def test_a_compacted_session_shows_its_digests_and_their_turns(site: Site) -> None:
    lines = [
        f"The {name} berth is booked for the {name} ferry until noon" for name in ("north", "south", "east", "west") * 3
    ]
    site.memory.ingest_many([say(line) for line in lines for say in (user, assistant)], session="long")
    site.memory.flush()
    assert site.memory.compact("long", force=True).summaries
    page = site.get("/inspector/session?name=long")
    assert "in a digest" in page.text and "from its old turns" in page.text
    behind = next(attrs["hx-get"] for _, attrs in page.elements if "/expand" in attrs.get("hx-get", ""))
    opened = site.get(behind)
    assert opened.status == 200 and "berth is booked" in opened.text
    assert len(opened.links("/inspector/turn?")) == len(site.memory.expand(behind.partition("id=")[2]))


@pytest.mark.requirement("API-5", "SAFE-1")
def test_an_unavailable_model_is_shown_and_pages_still_work(tmp_path: Path) -> None:
    with open_site(tmp_path, embedder=FailingEmbedder(down=True)) as site:
        site.memory.ingest("the harbour is quiet tonight")
        with pytest.raises(ModelError):
            site.memory.flush()
        text = site.get("/").text
        assert "Degraded." in text and "1 line behind." in text
        assert "Degraded." in site.get("/inspector/health").text
        found = site.get("/inspector/search?q=harbour")
        assert "the harbour is quiet tonight" in found.text


@pytest.mark.requirement("API-5")
def test_errors_are_shown_with_advice(site: Site) -> None:
    for address, status in (
        ("/inspector/record?id=nobody", 404),
        ("/inspector/record", 422),
        ("/inspector/session?name=nowhere", 404),
        ("/inspector/session?name=x&after=many", 422),
        ("/inspector/records?kind=bogus", 422),
        ("/inspector/search?q=x&since=whenever", 422),
        ("/inspector/themes?since=x", 422),
        ("/inspector/health?run=fix", 422),
        ("/?days=3", 422),
    ):
        page = site.get(address)
        assert (address, page.status) == (address, status)
        assert "That did not work" in page.text
        notice = site.get(address, {"HX-Request": "true"})
        assert notice.elements[0] == ("div", {"class": "notice error"})


@pytest.mark.requirement("API-5", "INV-4")
def test_another_memory_can_be_chosen(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        site.memory.ingest("the key is under the pot")
        with site.memories.lend("bo & söhne") as other:
            other.ingest("the boat is blue")
        assert site.client.post("/inspector/memory", data={"namespace": "bo & söhne"}).status_code == 303
        text = site.get("/inspector/timeline").text
        assert "the boat is blue" in text and "under the pot" not in text and "bo & söhne" in text
        site.client.post("/inspector/memory", data={"namespace": ""})
        assert "under the pot" in site.get("/inspector/timeline").text
    with open_site(tmp_path, bound=True) as site:
        assert site.post("/inspector/memory", {"namespace": "bo & söhne"}).status == 403
        site.client.cookies.set("holdfast_memory", "bo%20%26%20s%C3%B6hne")
        assert site.get("/inspector/timeline").status == 403


@pytest.mark.requirement("LOG-6")
def test_a_server_without_a_namespace_asks_for_one(tmp_path: Path) -> None:
    with open_site(tmp_path, namespace=None) as site:
        page = site.get("/")
        assert page.status == 400 and "Namespace" in page.text
        site.client.post("/inspector/memory", data={"namespace": "ana"})
        assert site.get("/").status == 200
