"""Whose memory a request is about: the header, or the server's own; what the credential allows is Memories' matter."""

from __future__ import annotations

from starlette.types import Scope

from holdfast.errors import InputError
from holdfast.serve.http.problems import Refusal

__all__ = ["NAMESPACE", "confined", "is_confined", "namespace_of"]

NAMESPACE = "Holdfast-Namespace"
_HEADER = NAMESPACE.lower().encode()
_MARK = "holdfast.confined"
_CONFINED = ("/v1/", "/mcp", "/openapi.json", "/healthz")
"""What takes the namespace from the header, and so can be opened for one memory alone."""


def namespace_of(scope: Scope) -> str | None:
    """The namespace that the request names, as UTF-8; None where it names none."""
    given = [value for key, value in scope["headers"] if key == _HEADER]
    if not given:
        return None
    if len(given) > 1:
        raise InputError(f"the header {NAMESPACE} comes {len(given)} times; a request is about one memory")
    try:
        return bytes(given[0]).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the header {NAMESPACE} is no UTF-8: byte {error.start} cannot be read") from error


def confined(scope: Scope, namespace: str) -> Scope:
    """The request of a credential that opens one memory: it is about that one, whether it says so or not."""
    own = namespace.encode("utf-8")
    if any(key == _HEADER and value != own for key, value in scope["headers"]):
        raise _refused(f"this token opens the memory of {namespace!r} and no other")
    if not scope["path"].startswith(_CONFINED):
        raise _refused("this token opens one memory; it is for the verbs and for MCP")
    others = [(key, value) for key, value in scope["headers"] if key != _HEADER]
    return {**scope, "headers": [*others, (_HEADER, own)], _MARK: True}


def is_confined(scope: Scope) -> bool:
    """Whether the credential of the request opens one memory alone."""
    return _MARK in scope


def _refused(message: str) -> Refusal:
    return Refusal(403, "Refused", message, "Use the credential of that memory, or the server's own token.")
