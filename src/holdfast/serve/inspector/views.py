"""Shared parts of the pages: parsed requests, the memory they show, templates and error pages."""

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
from holdfast.serve.errors import failure_of
from holdfast.serve.inspector.format import FILTERS, finalize
from holdfast.serve.memories import Memories
from holdfast.serve.token import COOKIE, EndedLogins
from holdfast.settings import tuned
from holdfast.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class InspectorSizes:
    """Sizes of the inspector's pages (docs/how-to/inspector.md)."""

    page: int = 50  # turns, records or sessions per page: three screens
    list_chars: int = 600  # of a text in a list: about eight lines
    whole_chars: int = 20_000  # of a text on its own page: ten screens, then a link to a file
    days: int = 60  # in the plots of the overview; longer times are shown by week or month
    doctor_records: int = 100_000  # with more, the page names the command: the doctor takes .5 ms per record
    form_bytes: int = 2 * 1024 * 1024  # a longer form is refused: a corrected text is a few sentences


MEMORY_COOKIE = "holdfast_memory"
"""The namespace that the pages show, if not the server's own. Not a secret: the credential decides what is allowed."""
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
_REVEALING = ("turn.html", "record.html")
"""Pages on which a button shows the secrets of one turn or record."""


@dataclass(frozen=True)
class PageRequest:
    """A browser's request, parsed once: no page reads a request itself."""

    path: str
    query: Mapping[str, str]
    form: Mapping[str, Sequence[str]]
    namespace: str | None
    by_htmx: bool
    """Only a part of a page is wanted."""
    login: str = ""
    """The cookie of the login."""

    def get(self, name: str) -> str | None:
        """Return a field of the form or of the URL; None if it is absent or empty."""
        return (self.form.get(name) or [""])[0] or self.query.get(name) or None

    def require(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise InputError(f"the URL of this page lacks {name!r}; go back and follow a link")
        return found

    def choice(self, name: str, options: Sequence[str]) -> str | None:
        """Return a field that must be one of the options, or absent."""
        found = self.get(name)
        if found is not None and found not in options:
            raise InputError(f"{name} cannot be {found[:80]!r}: use one of {', '.join(options)}")
        return found

    def number(self, name: str, default: int) -> int:
        found = self.get(name)
        if found is None:
            return default
        digits = found.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(found) > 9:
            raise InputError(f"{name} must be a whole number, not {found[:80]!r}")
        return int(found)

    def url(self, **changed: str | None) -> str:
        """Return the URL of this page with some fields changed or, if None, removed."""
        fields = {name: value for name, value in {**self.query, **changed}.items() if value}
        return f"{self.path}?{urlencode(fields)}" if fields else self.path


async def parse_request(request: Request, max_bytes: int) -> PageRequest:
    """Parse a request; a form that is too long is refused before it is read whole."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            raise InputError(f"the form is longer than {max_bytes:,} bytes; shorten the text and send it again")
    try:
        form = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except ValueError as error:
        raise InputError("the form is not valid application/x-www-form-urlencoded") from error
    named = request.cookies.get(MEMORY_COOKIE)
    return PageRequest(
        request.url.path,
        dict(request.query_params),
        form,
        unquote(named) if named else None,
        request.headers.get("hx-request") == "true",
        request.cookies.get(COOKIE, ""),
    )


class Inspector:
    """The memories, templates and settings behind the pages."""

    def __init__(
        self, memories: Memories, token: str, rules: tuple[str, ...] = (), ended: EndedLogins | None = None
    ) -> None:
        self.memories = memories
        self.token = token
        self.ended = EndedLogins() if ended is None else ended
        self.rules = rules
        self.rule_files = Rules()
        self._templates = _load_templates()

    @property
    def settings(self) -> InspectorSizes:
        return tuned(self.memories.settings, InspectorSizes)

    @contextmanager
    def memory(self, request: PageRequest, *, reads: bool = True) -> Iterator[Memory]:
        """Lend the memory that the pages show: the chosen one, or the server's own."""
        with self.memories.lend(request.namespace, reads=reads) as memory:
            yield memory

    def page(self, template: str, request: PageRequest, code: int = 200, /, **values: object) -> Response:
        shared = {
            "request": request,
            "pages": PAGES,
            "namespace": request.namespace or self.memories.namespace,
            "limits": self.settings,
            "version": __version__,
            "reveal": template in _REVEALING and request.get("reveal") is not None,
        }
        return HTMLResponse(self._templates.get_template(template).render(shared | values), code)

    def error_page(self, request: PageRequest | None, error: Exception) -> Response:
        """Return a page, or a notice on the open page, with the error and advice."""
        failure = failure_of(error)
        known = request or PageRequest("/", {}, {}, None, False)
        return self.page("notice.html" if known.by_htmx else "error.html", known, failure.status, failure=failure)

    @staticmethod
    def redirect(url: str, headers: Mapping[str, str] | None = None) -> Response:
        """Redirect after a form, so that reloading does not send it again."""
        return RedirectResponse(url, _SEE_OTHER, headers)


def _load_templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        finalize=finalize,
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,  # always and everywhere: stored text is never markup
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= FILTERS
    return environment
