"""The inspector in process: its routes on a memory of their own, and pages as a parser sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import httpx2
from starlette.applications import Starlette
from starlette.testclient import TestClient

from holdfast.memory import Memory
from holdfast.models.embedder import Embedder
from holdfast.serve.http.app import create_app
from holdfast.serve.http.auth import addresses_of
from holdfast.serve.inspector.app import inspector_routes
from holdfast.serve.memories import Memories
from holdfast.settings import Settings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK

TOKEN = "a-token-of-the-tests-that-nobody-else-knows"
HOST = "127.0.0.1:8737"

LISTS = (
    "/", "/inspector/timeline", "/inspector/sessions", "/inspector/records", "/inspector/records?state=all",
    "/inspector/search", "/inspector/search?q=harbour", "/inspector/guidance", "/inspector/merges",
    "/inspector/themes?since=all", "/inspector/health", "/inspector/health?run=check", "/inspector/health?run=doctor",
    "/inspector/settings", "/login",
)  # fmt: skip
"""Every page that needs no id."""


@dataclass
class Page(HTMLParser):
    """A parsed page: elements with their attributes, and the text outside of them."""

    status: int
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def __hash__(self) -> int:
        return id(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def links(self, start: str) -> list[str]:
        """Addresses that begin like this, each once, in order."""
        found = [attrs.get("href", "") for tag, attrs in self.elements if tag == "a"]
        return list(dict.fromkeys(one for one in found if one.startswith(start)))

    def more(self) -> str | None:
        return next((attrs["hx-get"] for _, attrs in self.elements if attrs.get("hx-select") == "#items > *"), None)

    def dangers(self) -> list[str]:
        """Return violations of the strict policy: inline code or style, or a link to the outside."""
        found = []
        for tag, attrs in self.elements:
            if tag in ("style", "iframe", "object", "embed", "img", "base"):
                found.append(tag)
            if tag == "script" and not attrs.get("src", "").startswith("/static/"):
                found.append("script")
            found += [f"{tag} {name}" for name in attrs if name.startswith("on") or name == "style"]
            for name in ("href", "src", "action", "hx-get", "hx-post"):
                if not re.match(r"$|/(?!/)|#", attrs.get(name, "")):
                    found.append(f"{tag} {name}={attrs[name]}")
        return found


@dataclass(frozen=True)
class Site:
    client: TestClient
    memories: Memories

    @property
    def memory(self) -> Memory:
        return self.memories._root()

    def get(self, address: str, headers: Mapping[str, str] | None = None) -> Page:
        return read(self.client.get(address, headers=dict(headers or {})))

    def post(self, address: str, fields: Mapping[str, str | list[str]], htmx: bool = True) -> Page:
        headers = {"HX-Request": "true"} if htmx else {}
        return read(self.client.post(address, data=dict(fields), headers=headers))

    def leaf(self, address: str) -> list[Page]:
        """A list from its first page to its last."""
        pages = [self.get(address)]
        while (more := pages[-1].more()) is not None:
            pages.append(self.get(more))
        return pages


def read(answer: httpx2.Response) -> Page:
    page = Page(answer.status_code)
    page.feed(answer.text)
    page.close()
    return page


@contextmanager
def open_site(
    folder: Path,
    settings: Settings = QUICK,
    namespace: str | None = "ana",
    rules: tuple[str, ...] = (),
    bound: bool = False,
    embedder: Embedder | str | None = None,
) -> Iterator[Site]:
    """The bare routes, without access control."""
    model = HashEmbedder() if embedder is None else embedder
    memories = Memories(folder / "memory.db", namespace, embedder=model, settings=settings, bound=bound)
    app = Starlette(routes=inspector_routes(memories, TOKEN, rules))
    try:
        with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as client:
            yield Site(client, memories)
    finally:
        memories.close()


@contextmanager
def open_guarded(folder: Path) -> Iterator[Site]:
    """The whole server, with its middleware."""
    memories = Memories(folder / "memory.db", "ana", embedder=HashEmbedder(), settings=replace(QUICK))
    app = create_app(memories, TOKEN, addresses_of("127.0.0.1", 8737))
    try:
        with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as client:
            yield Site(client, memories)
    finally:
        memories.close()
