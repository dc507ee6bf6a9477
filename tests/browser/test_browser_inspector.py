"""The inspector in a real browser: it opens, stays silent, asks nobody else, and what is stored does no harm.

`make browser` runs it; with HOLDFAST_PICTURES it leaves the pictures of docs/how-to/inspector.md in that folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.memory import Memory
from tests.browser.driver import Browser, open_browser, outside
from tests.browser.stores import HOSTILE, fill_hostile, fill_large, fill_month
from tests.support.memories import QUICK

pytestmark = pytest.mark.long

MANY = 50_000
SLOWEST_S = 5.0
"""A page of the largest store, on a machine that is busy with other things."""
PAGES = (
    "/", "/?days=90", "/inspector/timeline", "/inspector/sessions", "/inspector/records",
    "/inspector/records?state=all",
    "/inspector/records?provenance=tool_derived", "/inspector/search?q=mackerel+to+pier+7", "/inspector/guidance",
    "/inspector/merges", "/inspector/themes?since=all", "/inspector/health", "/inspector/settings",
)  # fmt: skip


@dataclass(frozen=True)
class Server:
    address: str
    token: str


@contextmanager
def serving(store: Path, rules: Path | None = None) -> Iterator[Server]:
    """A real `holdfast serve` on a free port."""
    token = store.with_suffix(".token")
    options = ("--store", store, "--namespace", "ana", "--port", "0", "--token-file", token, "--json")
    ruled = ("--rules", rules) if rules else ()
    command = [sys.executable, "-m", "holdfast.cli", "serve", *map(str, (*options, *ruled))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            yield Server(str(told["url"]), token.read_text().strip())
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with open_browser(tmp_path / "profile") as opened:
        yield opened


def enter(browser: Browser, server: Server) -> None:
    browser.open("about:blank")
    browser.open(f"{server.address}/login#{server.token}")
    browser.wait_for("location.pathname === '/' && document.readyState === 'complete'")
    assert "#" not in browser.address


def look(browser: Browser, server: Server, path: str) -> float:
    """Open a page, see that nothing is wrong with it, and say how many seconds it took."""
    started = time.monotonic()
    browser.open(server.address + path)
    seconds = time.monotonic() - started
    assert not browser.has_dialog()
    assert browser.title.endswith(" · holdfast"), (path, browser.title)
    assert browser.console() == [], path
    assert outside(browser.requests(), server.address) == [], path
    assert browser.count("main h1") == 1
    return seconds


def first(browser: Browser, selector: str) -> str:
    return str(browser.run("return document.querySelector(arguments[0]).getAttribute('href')", selector))


@pytest.mark.requirement("API-5")
@pytest.mark.parametrize("count", [0, 1, MANY])
def test_pages_open_without_console_messages_or_outside_requests(browser: Browser, tmp_path: Path, count: int) -> None:
    store = tmp_path / "memory.db"
    if count:
        fill_large(store, count)
    with serving(store) as server:
        enter(browser, server)
        times = {path: look(browser, server, path) for path in PAGES}
        for listed, selector in (("sessions", ".row"), ("records", ".card .meta a"), ("timeline", ".card .foot a")):
            look(browser, server, f"/inspector/{listed}")
            if count:
                path = first(browser, selector)
                times[path] = look(browser, server, path)
        for width in (375, 1200):
            browser.shape(width, 800)
            for path in times:
                look(browser, server, path)
                assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), (path, width)
    print(f"\n{count} records:", ", ".join(f"{path} {seconds * 1000:.0f} ms" for path, seconds in times.items()))
    assert max(times.values()) < SLOWEST_S, times


@pytest.mark.requirement("API-5", "INV-2", "SAFE-4")
def test_stored_text_does_no_harm_on_any_page(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    fill_hostile(store)
    with serving(store) as server:
        enter(browser, server)
        pages = [*PAGES, "/inspector/search?q=%3Cscript%3Ealert(1)%3C/script%3E"]
        for listed, selector in (("sessions", ".row"), ("records", ".card .meta a"), ("timeline", ".card .foot a")):
            look(browser, server, f"/inspector/{listed}")
            found = browser.run(
                "return [...document.querySelectorAll(arguments[0])].map((one) => one.getAttribute('href'))", selector
            )
            assert isinstance(found, list)
            pages += [str(one) for one in found if str(one).startswith("/inspector/")]
        assert len(pages) > len(PAGES) + 2 * len(HOSTILE)
        for path in dict.fromkeys(pages):
            look(browser, server, path)
            assert browser.count("img, iframe, [onerror], [onload], [style], main script, main style") == 0, path
        look(browser, server, "/inspector/timeline")
        shown = browser.text("main")
        for text in HOSTILE:
            assert text.split("\u202c")[0] in shown


@pytest.mark.requirement("API-5")
def test_actions_paging_and_search_work_by_mouse_and_keyboard(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    fill_large(store, 120)
    with serving(store) as server:
        enter(browser, server)
        look(browser, server, "/inspector/records")
        assert browser.count("#items > .card") == 50
        browser.click(".more a")
        browser.wait_for("document.querySelectorAll('#items > .card').length === 100")
        browser.click(".more a")
        browser.wait_for("document.querySelectorAll('#items > .card').length === 120")
        assert browser.count(".more") == 0

        browser.keys("j")
        browser.keys("j")
        assert browser.run("return [...document.querySelectorAll('[data-item]')].indexOf(document.activeElement)") == 1
        browser.click("[data-item]:focus [action='/inspector/forget'] button")
        browser.wait_for("document.querySelectorAll('.card.forgotten').length === 1")
        assert "Forgotten" in browser.text("#message")
        browser.click("#message button")
        browser.wait_for("document.querySelector('#message').innerText.includes('Undone')")
        browser.wait_for("document.querySelector('.card.forgotten') === null")

        look(browser, server, first(browser, ".card .meta a"))
        browser.click("#correct summary")
        browser.run("document.querySelector('#new-text').value = 'The crates were full of herring'")
        browser.click("#correct button")
        browser.wait_for("document.querySelector('#message a') && document.querySelector('.card.forgotten')")
        look(browser, server, first(browser, "#message a"))
        assert "it corrects r-" in browser.text("main")

        browser.keys("/")
        browser.keys("full of herring\ue007")
        browser.wait_for("location.pathname === '/inspector/search' && document.querySelector('.hits .card') !== null")
        assert "The crates were full of herring" in browser.text(".hits li:first-child")
        browser.run("document.querySelector('#ask').value = 'mackerel pier'")
        browser.click(".search-form button")
        browser.wait_for("document.querySelectorAll('.hits .card').length === 20")
        browser.click("footer button")
        browser.wait_for("location.pathname === '/login'")
        browser.open(f"{server.address}/inspector/records")
        assert browser.address == f"{server.address}/login"
        assert browser.console() == []
        assert outside(browser.requests(), server.address) == []


@pytest.mark.requirement("API-5")
def test_the_pictures_of_the_docs_are_taken(browser: Browser, tmp_path: Path) -> None:
    folder = Path(os.environ.get("HOLDFAST_PICTURES") or tmp_path)
    store, rules = tmp_path / "memory.db", tmp_path / "AGENTS.md"
    fill_month(store)
    with Memory(store, "ana", settings=QUICK) as memory:
        sister = memory.search("where does my sister live", limit=1)[0].id
    rules.write_text("# House rules\n\n- Never book anything without asking first.\n\n> Prefer trains over planes.\n")
    wide, phone = (1000, 660), (375, 720)
    wanted = {
        "overview": ("/", wide, False),
        "overview-dark": ("/", wide, True),
        "overview-phone": ("/", phone, False),
        "search": ("/inspector/search?q=where+does+my+sister+live", wide, False),
        "search-phone": ("/inspector/search?q=where+does+my+sister+live", phone, True),
        "session": ("/inspector/session?name=2026-09-14-a", wide, False),
        "why-dark": (f"/inspector/turn?id={sister}", wide, True),
        "merges": ("/inspector/merges", wide, False),
    }
    with serving(store, rules) as server:
        enter(browser, server)
        sizes = {}
        for name, (path, (width, height), dark) in wanted.items():
            browser.shape(width, height, dark)
            look(browser, server, path)
            picture = browser.picture()
            (folder / f"inspector-{name}.png").write_bytes(picture)
            sizes[name] = len(picture)
    assert sum(sizes.values()) < 600_000, sizes
