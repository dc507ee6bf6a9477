"""What every page stands on: the memories, the templates, and how an answer leaves the house."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from holdfast.context.rule_files import Rules
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.serve.errors import fault_of
from holdfast.serve.inspector.format import FILTERS
from holdfast.serve.memories import Memories
from holdfast.settings import InspectorSettings
from holdfast.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

# --- What a browser asked for, read once: no page looks into a request itself.


MEMORY_COOKIE = "holdfast_memory"
"""Whose memory the pages show, if not the server's own. No secret: the credential decides what may be reached."""


@dataclass(frozen=True)
class Asked:
    path: str
    query: Mapping[str, str]
    form: Mapping[str, Sequence[str]]
    namespace: str | None
    by_htmx: bool
    """A part of a page is wanted, not a page."""

    def given(self, name: str) -> str | None:
        """A field of the form, or of the address; None where it is absent or empty."""
        return (self.form.get(name) or [""])[0] or self.query.get(name) or None

    def needed(self, name: str) -> str:
        found = self.given(name)
        if found is None:
            raise InputError(f"this page needs {name!r} in its address, and it is not there; go back and follow a link")
        return found

    def chosen(self, name: str, among: Sequence[str]) -> str | None:
        """A field that is one of these, or absent."""
        found = self.given(name)
        if found is not None and found not in among:
            raise InputError(f"{name} cannot be {found[:80]!r}: it is one of {', '.join(among)}")
        return found

    def number(self, name: str, default: int) -> int:
        found = self.given(name)
        if found is None:
            return default
        if not found.removeprefix("-").isascii() or not found.removeprefix("-").isdigit() or len(found) > 9:
            raise InputError(f"{name} must be a whole number, not {found[:80]!r}")
        return int(found)

    def address(self, **changed: str | None) -> str:
        """The address of this page with some fields changed, or left out (None)."""
        fields = {name: value for name, value in {**self.query, **changed}.items() if value}
        return f"{self.path}?{urlencode(fields)}" if fields else self.path


async def read_asked(request: Request, most_bytes: int) -> Asked:
    """The request as the pages see it; a form that is too long is refused before it is read whole."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most_bytes:
            raise InputError(f"the form is longer than {most_bytes:,} bytes; shorten the text and send it again")
    try:
        form = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except ValueError as error:
        raise InputError("the form could not be read: it is not application/x-www-form-urlencoded") from error
    named = request.cookies.get(MEMORY_COOKIE)
    return Asked(
        request.url.path,
        dict(request.query_params),
        form,
        unquote(named) if named else None,
        request.headers.get("hx-request") == "true",
    )


PAGES = (
    ("/", "Overview"),
    ("/inspector/timeline", "Timeline"),
    ("/inspector/sessions", "Sessions"),
    ("/inspector/records", "Records"),
    ("/inspector/search", "Search"),
    ("/inspector/guidance", "Guidance"),
    ("/inspector/merges", "Merges"),
    ("/inspector/themes", "Themes"),
    ("/inspector/health", "Health"),
    ("/inspector/settings", "Settings"),
)
_SEE_OTHER = 303


class Desk:
    def __init__(self, memories: Memories, token: str, rules: tuple[str, ...] = ()) -> None:
        self.memories = memories
        self.token = token
        self.rules = rules
        self.rule_files = Rules(settings=memories.settings.authored)
        self._templates = _templates()

    @property
    def settings(self) -> InspectorSettings:
        return self.memories.settings.inspector

    @contextmanager
    def memory(self, asked: Asked, *, reads: bool = True) -> Iterator[Memory]:
        """The memory that the pages show: the one that was chosen, or the server's own."""
        with self.memories.lend(asked.namespace, reads=reads) as memory:
            yield memory

    def page(self, template: str, asked: Asked, code: int = 200, /, **values: object) -> Response:
        """A whole page, or the part of one that htmx picks out of it."""
        here = {
            "asked": asked,
            "pages": PAGES,
            "namespace": asked.namespace or self.memories.namespace,
            "limits": self.settings,
            "version": __version__,
        }
        return HTMLResponse(self._templates.get_template(template).render(here | values), code)

    def fault(self, asked: Asked | None, error: Exception) -> Response:
        """What went wrong, and what to do: a page, or a notice on the page that is open."""
        told = fault_of(error)
        known = asked or Asked("/", {}, {}, None, False)
        return self.page("notice.html" if known.by_htmx else "fault.html", known, told.status, fault=told)

    @staticmethod
    def go(address: str, headers: Mapping[str, str] | None = None) -> Response:
        """After a form: elsewhere, so that reloading does not send it again."""
        return RedirectResponse(address, _SEE_OTHER, headers)


def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,  # always and everywhere: what is stored is never markup
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= FILTERS
    return environment
