"""What a client can attach: a turn or record by its id, a conversation by its name."""

from __future__ import annotations

from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CompleteResult,
    Completion,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from holdfast.answers import ThreadAnswer
from holdfast.context.escape import encode_field
from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.serve.mcp.telling import Telling

__all__ = ["RECORD", "SESSION", "complete_session", "read_resource", "recent_sessions", "templates"]

RECORD, SESSION = "memory://record/", "memory://session/"
_TEXT = "text/plain"
_LOOKED_THROUGH, _MOST_VALUES = 1000, 100  # who types a name means a late one; the protocol allows a hundred values


def templates() -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                uri_template=RECORD + "{id}",
                name="record",
                title="A turn or record",
                description="Its whole text, where it comes from and what was decided about it. History.",
                mime_type=_TEXT,
            ),
            ResourceTemplate(
                uri_template=SESSION + "{name}",
                name="session",
                title="A conversation",
                description="Its turns in order, one line each. History.",
                mime_type=_TEXT,
            ),
        ]
    )


def recent_sessions(memory: Memory) -> ListResourcesResult:
    """The conversations that were spoken in last; older ones are read by their name."""
    with memory.view as view:
        found = view.sessions(memory.settings.mcp.listed_sessions)
    return ListResourcesResult(
        resources=[
            Resource(
                uri=SESSION + quote(one.name, safe=""),
                name=encode_field(one.name),
                title=f"Conversation {encode_field(one.name)}",
                description=f"Its last turn is of {one.last.date().isoformat()}.",
                mime_type=_TEXT,
            )
            for one in found
            if one.last is not None
        ]
    )


def complete_session(memory: Memory, begun: str) -> CompleteResult:
    """Names of conversations that begin so, the one that was spoken in last first."""
    with memory.view as view:
        names = [one.name for one in view.sessions(_LOOKED_THROUGH) if one.name.startswith(begun)]
    return CompleteResult(completion=Completion(values=names[:_MOST_VALUES], has_more=len(names) > _MOST_VALUES))


def read_resource(memory: Memory, telling: Telling, uri: str) -> ReadResourceResult:
    return ReadResourceResult(
        contents=[TextResourceContents(uri=uri, mime_type=_TEXT, text=_text(memory, telling, uri))]
    )


def _text(memory: Memory, telling: Telling, uri: str) -> str:
    if uri.startswith(RECORD):
        return telling.whole(memory.why(unquote(uri.removeprefix(RECORD))))
    if uri.startswith(SESSION):
        name = unquote(uri.removeprefix(SESSION))
        if turns := memory.thread(name):
            return telling.tell(ThreadAnswer(name, tuple(turns)))
        raise NotFound(f"there is no conversation {name!r} here")
    raise MCPError(INVALID_PARAMS, f"there is no resource {uri!r}; there are {RECORD}ID and {SESSION}NAME")
