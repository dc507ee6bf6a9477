"""A verb called in this process, with its answer as JSON values: what every surface is compared with."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.memory import Memory
from holdfast.serve.verbs import CallContext, Verb, call_verb
from holdfast.text.jsonio import plain


def call(verb: Verb, memory: Memory, payload: Mapping[str, object], context: CallContext | None = None) -> object:
    return plain(call_verb(verb, memory, payload, context))
