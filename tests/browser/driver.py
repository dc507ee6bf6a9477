"""A real browser for the tests: Debian's chromium, led by its chromedriver over the WebDriver protocol."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The name WebDriver gives a reference to an element."""
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--force-device-scale-factor=1",
)  # fmt: skip
_START_S = 30.0


class Browser:
    def __init__(self, client: httpx2.Client, session: str) -> None:
        self._client = client
        self._session = session

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> object:
        answer = self._client.request(method, f"/session/{self._session}{path}", json=body)
        value: object = answer.json()["value"]
        assert answer.status_code == 200, f"{path}: {value}"
        return value

    def cdp(self, command: str, **params: object) -> object:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, address: str) -> None:
        """Go there, and wait until it is loaded."""
        self._ask("POST", "/url", {"url": address})

    @property
    def address(self) -> str:
        return str(self._ask("GET", "/url"))

    @property
    def title(self) -> str:
        return str(self._ask("GET", "/title"))

    def run(self, script: str, *given: object) -> object:
        """Return the result of a script; the page's content policy does not apply to WebDriver."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(given)})

    def text(self, selector: str = "body") -> str:
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def count(self, selector: str) -> int:
        found = self.run("return document.querySelectorAll(arguments[0]).length", selector)
        assert isinstance(found, int)
        return found

    def click(self, selector: str) -> None:
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        assert isinstance(found, dict)
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        self._ask("POST", f"/element/{found[ELEMENT]}/click", {})

    def keys(self, text: str) -> None:
        """Typed at whatever has the focus."""
        actions = [
            step for key in text for step in ({"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})
        ]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def wait_for(self, script: str, seconds: float = 20.0) -> None:
        """Until a script gives true, looked at by the browser itself."""
        source = f"""const [ms, done] = arguments; const end = performance.now() + ms;
            const look = () => ({script}) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 20);
            look();"""
        self._ask("POST", "/timeouts", {"script": int(seconds * 1000) + 5000})
        found = self._ask("POST", "/execute/async", {"script": source, "args": [seconds * 1000]})
        assert found is True, f"{script} never became true on {self.address}: {self.text()[:500]}"

    def has_dialog(self) -> bool:
        answer = self._client.get(f"/session/{self._session}/alert/text")
        return answer.status_code == 200

    def shape(self, width: int, height: int, dark: bool = False) -> None:
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self) -> bytes:
        return base64.b64decode(str(self._ask("GET", "/screenshot")))

    def console(self) -> list[str]:
        """Return the new console messages; a good page has none."""
        entries = self._ask("POST", "/se/log", {"type": "browser"})
        assert isinstance(entries, list)
        return [str(entry["message"]) for entry in entries]

    def requests(self) -> list[str]:
        """Every address that was asked for since the last look."""
        entries = self._ask("POST", "/se/log", {"type": "performance"})
        assert isinstance(entries, list)
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]


def outside(addresses: list[str], own: str) -> list[str]:
    """Those that lead anywhere but to this server."""
    host = urlsplit(own).netloc
    return [one for one in addresses if urlsplit(one).scheme not in ("data", "about") and urlsplit(one).netloc != host]


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """A fresh profile in a folder; the driver and its browser end with the block."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    assert driver and chromium, "the browser is missing: apt-get install chromium chromium-driver"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=120.0, trust_env=False) as client:
            _wait_until_ready(client, process)
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": {"binary": chromium, "args": [*_FLAGS, f"--user-data-dir={folder}"]},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "unhandledPromptBehavior": "ignore",
            }
            answer = client.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
            assert answer.status_code == 200, answer.text
            browser = Browser(client, answer.json()["value"]["sessionId"])
            browser.open("about:blank")  # away from the browser's own first page
            browser.console(), browser.requests()
            try:
                yield browser
            finally:
                browser._ask("DELETE", "")
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_ready(client: httpx2.Client, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            if client.get("/status").json()["value"]["ready"]:
                return
        except httpx2.TransportError:
            continue  # it does not listen yet
    raise AssertionError("chromedriver did not start")
