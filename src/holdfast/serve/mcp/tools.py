"""The tools, made from the verbs: names, words, schemas and hints are the verb's own, so they cannot drift apart."""

from __future__ import annotations

from functools import cache

from mcp.types import Tool, ToolAnnotations

from holdfast.serve.inputs import Input
from holdfast.serve.verbs import VERBS, Danger, Verb, schema

__all__ = ["OFFERED", "tool_of", "tools", "verb_of"]

OFFERED = ("search", "recent", "themes", "context", "why", "remember", "forget", "ingest")
"""Few: every tool is words in each prompt of the host. The rest is for people and programs (docs/rpc.md, docs/http.md);
a conversation in order is a resource."""
_PREFIX = "memory_"


def tools() -> list[Tool]:
    return [tool_of(VERBS[name]) for name in OFFERED]


def verb_of(tool: str) -> Verb[Input] | None:
    """The verb behind a tool's name; None for a name that is not offered."""
    name = tool.removeprefix(_PREFIX)
    return VERBS[name] if tool.startswith(_PREFIX) and name in OFFERED else None


@cache
def tool_of(verb: Verb[Input]) -> Tool:
    shapes = schema(verb.name)
    reads = verb.danger is Danger.READS
    return Tool(
        name=_PREFIX + verb.name,
        title=f"Memory: {verb.name}",
        description=verb.about,
        input_schema=dict(shapes.input),
        # Clients of before 2026-07 want the word at the root, also of a choice between objects.
        output_schema={"type": "object", **shapes.output},
        annotations=ToolAnnotations(
            title=f"Memory: {verb.name}",
            read_only_hint=reads,
            destructive_hint=verb.danger is Danger.DESTROYS,
            idempotent_hint=reads,
            open_world_hint=False,
        ),
    )
