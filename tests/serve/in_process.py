"""A verb called in this process, with its answer as JSON values: what every surface is compared with."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.memory import Memory
from holdfast.serve.inputs import Input
from holdfast.serve.verbs import Surroundings, Verb, answer
from holdfast.text.jsonio import plain


def call(
    verb: Verb[Input], memory: Memory, payload: Mapping[str, object], around: Surroundings | None = None
) -> object:
    return plain(answer(verb, memory, payload, around))
