"""What a browser asked for, read once: no page looks into a request itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlencode

from starlette.requests import Request

from holdfast.errors import InputError

__all__ = ["MEMORY_COOKIE", "Asked", "read_asked"]

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
