"""Whose memory it is: names are checked at the door and resolved in one order (LOG-6)."""

from __future__ import annotations

from holdfast.errors import BadText, NamespaceRequired
from holdfast.settings import LogSettings

__all__ = ["check_name", "resolve_namespace"]


def check_name(what: str, name: object, settings: LogSettings) -> str:
    """The name itself, or BadText with the reason it cannot be one."""
    if not isinstance(name, str):
        raise BadText(f"a {what} must be a string, not {type(name).__name__}")
    if not name or name.isspace():
        raise BadText(f"a {what} must not be empty")
    if "\x00" in name:
        raise BadText(f"a {what} must not contain NUL")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise BadText(f"the {what} holds a lone surrogate at position {error.start}, which is no text") from error
    if size > settings.max_name_bytes:
        raise BadText(f"the {what} has {size} bytes; at most {settings.max_name_bytes} are taken")
    return name


def resolve_namespace(
    user: str | None = None,
    *,
    session_key: str | None = None,
    agent: str | None = None,
    default: str | None = None,
    settings: LogSettings,
) -> str:
    """The first that is given of: user id, session key, agent id, the operator's named default.

    The operating-system login is never used, and no answer is an error, never "all" (INV-4).
    """
    if user is not None:
        return check_name("namespace", user, settings)
    if session_key is not None:
        return check_name("namespace", f"session-key:{check_name('session key', session_key, settings)}", settings)
    if agent is not None:
        return check_name("namespace", f"agent:{check_name('agent id', agent, settings)}", settings)
    if default is not None:
        return check_name("namespace", default, settings)
    raise NamespaceRequired(
        "whose memory is it? Pass namespace=…, or name a default with HOLDFAST_NAMESPACE; the login name is never used"
    )
