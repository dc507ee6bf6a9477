"""What every page stands on: the memories, the templates, and how an answer leaves the house."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, RedirectResponse, Response

from holdfast.context.authored_files import Rules
from holdfast.memory import Memory
from holdfast.serve.faults import fault_of
from holdfast.serve.inspector.asked import Asked
from holdfast.serve.inspector.words import FILTERS
from holdfast.serve.memories import Memories
from holdfast.settings import InspectorSettings
from holdfast.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["PAGES", "Desk"]

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
