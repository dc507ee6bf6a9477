"""Actions in the inspector: their effect, their undo and their reason."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.model import Record
from holdfast.serve.token import COOKIE, EndedLogins, cookie_for, is_cookie
from tests.serve.inspector.inspector_site import HOST, LISTS, TOKEN, Page, Site, open_guarded, open_site
from tests.support.memories import found

OWN = {"Origin": f"http://{HOST}"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Site]:
    with open_guarded(tmp_path) as opened:
        yield opened


def undo(site: Site, done: Page) -> Page:
    """Press the undo that an answer offers."""
    assert ("button", {"class": "strong"}) in done.elements
    fields: dict[str, str | list[str]] = {}
    start = next(number for number, (_, attrs) in enumerate(done.elements) if attrs.get("action") == "/inspector/undo")
    for tag, attrs in done.elements[start + 1 :]:
        if tag != "input":
            break
        known = fields.setdefault(attrs["name"], [])
        assert isinstance(known, list)
        known.append(attrs["value"])
    return site.post("/inspector/undo", fields)


def live(site: Site) -> list[str]:
    with site.memory.view as view:
        return sorted(record.text for record in view.recent_records(50))


def bees(site: Site) -> Record:
    return site.memory.remember("Ida keeps eleven hives in Ghent")


@pytest.mark.requirement("API-5")
def test_forgetting_a_record_can_be_undone(site: Site) -> None:
    record = bees(site)
    done = site.post("/inspector/forget", {"id": record.id})
    assert done.status == 200 and "Forgotten" in done.text and "Bring back" in done.text
    assert live(site) == [] and found(site.memory.search("hives in Ghent")) == []
    assert "Undone" in undo(site, done).text
    assert live(site) == [record.text] == found(site.memory.search("hives in Ghent"))
    assert [one.what for one in site.memory.why(record.id).decisions] == ["remembered", "forgotten", "restored"]


@pytest.mark.requirement("API-5")
def test_a_turn_can_be_forgotten_restored_and_pinned(site: Site) -> None:
    turn = site.memory.ingest("The ferry to Inis Oirr leaves at nine", role="assistant", session="a")
    site.post("/inspector/forget", {"id": turn.id})
    assert site.memory.thread("a") == []
    site.post("/inspector/restore", {"id": turn.id})
    assert site.memory.thread("a") == [turn]
    done = site.post("/inspector/pin", {"id": turn.id})
    assert live(site) == [turn.text]
    undo(site, done)
    assert live(site) == [] and site.memory.thread("a") == [turn]


@pytest.mark.requirement("API-5", "INV-6")
def test_a_correction_replaces_the_old_text_and_names_it(site: Site) -> None:
    old = site.memory.remember("Ida keeps eleven hives in Ghent", kind="preference")
    done = site.post("/inspector/correct", {"id": old.id, "text": " Ida keeps twelve hives in Ghent "})
    assert live(site) == ["Ida keeps twelve hives in Ghent"]
    with site.memory.view as view:
        (new,) = view.recent_records(5)
    assert new.kind == old.kind
    (reason,) = site.memory.why(new.id).decisions
    assert f"it corrects {old.id}" in reason.reason
    assert f"/inspector/record?id={new.id}" in done.links("/inspector/record")
    assert f"/inspector/record?id={old.id}" in site.get(f"/inspector/record?id={new.id}").links("/inspector/record")
    undo(site, done)
    assert live(site) == [old.text]


@pytest.mark.requirement("API-5")
def test_a_correction_that_changes_nothing_is_refused(site: Site) -> None:
    old = bees(site)
    for text in (old.text, "  ", ""):
        assert site.post("/inspector/correct", {"id": old.id, "text": text}).status == 422
    assert live(site) == [old.text]
    turn = site.memory.ingest("a turn is what was said")
    assert site.post("/inspector/correct", {"id": turn.id, "text": "something else"}).status == 404


@pytest.mark.requirement("API-5", "KEEP-2")
def test_a_record_can_be_pinned_repeatedly(site: Site) -> None:
    site.memory.ingest("I keep eleven hives in Ghent and I always harvest in July")
    site.memory.flush()
    with site.memory.view as view:
        old = view.recent_records(5)[0]
    done = site.post("/inspector/pin", {"id": old.id})
    with site.memory.view as view:
        (new,) = [record for record in view.recent_records(5) if record.text == old.text]
    assert (new.id != old.id, new.confidence) == (True, 1.0)
    assert "Pinned" in done.text and f"it keeps {old.id} word for word" in site.memory.why(new.id).decisions[0].reason
    undo(site, done)
    site.post("/inspector/pin", {"id": old.id})
    with site.memory.view as view:
        assert [record.id for record in view.recent_records(5) if record.text == old.text] == [new.id]


@pytest.mark.requirement("API-5", "MERGE-6")
def test_a_merge_is_shown_with_its_statements_and_can_be_divided(site: Site) -> None:
    said = ("I prefer green tea in the morning.", "In the morning I prefer green tea.")
    for number, text in enumerate(said):
        site.memory.ingest(text, session=f"s{number}")
        site.memory.flush()
    with site.memory.view as view:
        (merged,) = view.recent_records(5, live=None, merged=True)
    page = site.get("/inspector/merges")
    offered = [attrs["value"] for tag, attrs in page.elements if attrs.get("type") == "checkbox"]
    assert offered == list(said) and "Divide" in page.text
    assert site.post("/inspector/divide", {"id": merged.id, "text": offered[:1]}).status == 422
    done = site.post("/inspector/divide", {"id": merged.id, "text": offered})
    assert live(site) == sorted(said) and merged.text in said
    assert "No merges yet" in site.get("/inspector/merges").text
    undo(site, done)
    assert live(site) == [merged.text]


@pytest.mark.requirement("API-5")
def test_without_scripts_an_action_redirects_to_the_item(site: Site) -> None:
    record = bees(site)
    answer = site.client.post("/inspector/forget", data={"id": record.id})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/inspector/record?id={record.id}")
    assert "Bring back" in site.get(answer.headers["location"]).text


@pytest.mark.requirement("API-5", "INV-4")
def test_ids_of_another_memory_are_unknown_to_every_action(site: Site) -> None:
    with site.memories.lend("bo") as bo:
        other = bo.remember("the boat is blue")
    for act in ("forget", "restore", "correct", "pin", "divide", "undo"):
        fields: dict[str, str | list[str]] = {"id": other.id, "text": ["one", "two"], "forget": other.id}
        assert (act, site.post(f"/inspector/{act}", fields).status) == (act, 404)
    for page in ("record", "turn", "text", "expand"):
        assert site.get(f"/inspector/{page}?id={other.id}").status == 404


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("body", [b"\xff\xfe", b"id", b"%ff=%ff", b"id=" + b"x" * 3_000_000, b""])
def test_an_invalid_form_is_refused(site: Site, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}
    answer = site.client.post("/inspector/forget", content=body, headers=headers)
    assert answer.status_code == 422 and "notice" in answer.text


# --- behind the middleware


@pytest.mark.requirement("API-5", "SAFE-3")
def test_pages_need_the_cookie_and_redirect_to_the_login(guarded: Site) -> None:
    for address in LISTS[:-1]:
        assert guarded.client.get(address).status_code == 401
        led = guarded.client.get(address, headers={"Accept": "text/html"})
        assert (led.status_code, led.headers["location"]) == (303, "/login")
    for address in ("/login", "/static/inspector.css", "/static/inspector.js", "/static/htmx.min.js"):
        assert guarded.client.get(address).status_code == 200


@pytest.mark.requirement("API-5", "SAFE-3")
def test_the_token_logs_in_and_logout_ends_it(guarded: Site) -> None:
    wrong = guarded.client.post("/login", data={"token": TOKEN[:-1]}, headers=OWN)
    assert wrong.status_code == 403 and "set-cookie" not in wrong.headers
    right = guarded.client.post("/login", data={"token": TOKEN}, headers=OWN)
    assert (right.status_code, right.headers["location"]) == (303, "/")
    cookie = guarded.client.cookies[COOKIE]
    assert right.headers["set-cookie"] == f"{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict"
    assert TOKEN not in right.headers["set-cookie"]
    assert guarded.get("/").status == 200
    guarded.client.post("/logout", headers=OWN)
    assert guarded.client.get("/").status_code == 401
    guarded.client.cookies.set(COOKIE, cookie)
    assert guarded.client.get("/").status_code == 401, "a copy of the cookie opens nothing"
    guarded.client.cookies.set(COOKIE, cookie_for(TOKEN))
    assert guarded.client.get("/").status_code == 200, "other logins go on"


@pytest.mark.requirement("SAFE-3")
def test_an_ended_login_stays_ended_in_every_process_and_after_30_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = EndedLogins(tmp_path / "ended"), EndedLogins(tmp_path / "ended")
    first, second, third = cookie_for(TOKEN), cookie_for(TOKEN), cookie_for(TOKEN)
    assert first not in other
    one.add(first)
    assert first in other and second not in other
    other.add(second)
    assert second in one and second in EndedLogins(tmp_path / "ended") and third not in one
    assert is_cookie(TOKEN, third)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 31 * 86_400)
    assert not is_cookie(TOKEN, third)


@pytest.mark.requirement("API-5", "SAFE-3")
@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": f"http://{HOST}.evil.example"},
     {"Origin": f"https://{HOST}"}, {"Origin": f"HTTP://{HOST}"}],
)  # fmt: skip
def test_an_action_needs_the_cookie_and_our_own_page(guarded: Site, headers: dict[str, str]) -> None:
    record = guarded.memory.remember("Ida keeps eleven hives")
    fields = {"id": record.id}
    assert guarded.client.post("/inspector/forget", data=fields, headers=OWN).status_code == 401
    guarded.client.cookies.set(COOKIE, cookie_for(TOKEN))
    assert guarded.client.post("/inspector/forget", data=fields, headers=headers).status_code == 403
    assert live(guarded) == [record.text]
    assert guarded.client.post("/inspector/forget", data=fields, headers=OWN).status_code == 303
    assert live(guarded) == []
