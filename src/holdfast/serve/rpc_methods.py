"""All methods of the sidecar: the seed's under their bare names, ours as memory.VERB, and a list of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from holdfast.errors import InputError
from holdfast.serve.inputs import Input
from holdfast.serve.lifecycle import ContextEngine
from holdfast.serve.memories import Memories
from holdfast.serve.methods import Method, Params
from holdfast.serve.seed_methods import SeedMethods
from holdfast.serve.sidecar import AUTHENTICATE
from holdfast.serve.verbs import VERBS, Danger, Surroundings, Verb, answer, schema

__all__ = ["rpc_methods"]

_OURS = "memory."
_WHOSE = "userId"
"""A parameter of every verb here: whose memory it is; the connection's, if it is left out."""


@dataclass(frozen=True)
class _Offer:
    memories: Memories
    around: Surroundings

    def call(self, verb: Verb[Input], params: Params) -> object:
        whose = params.get(_WHOSE)
        if whose is not None and not isinstance(whose, str):
            raise InputError(f"{verb.name}: {_WHOSE} must be a string")
        payload = {name: value for name, value in params.items() if name != _WHOSE}
        with self.memories.lend(whose, reads=verb.danger is Danger.READS) as memory:
            return answer(verb, memory, payload, self.around)


def rpc_methods(memories: Memories, rules: tuple[str, ...] = ()) -> dict[str, Method]:
    offer = _Offer(memories, Surroundings(rules, memories.bound, memories.places))
    engine = ContextEngine(memories, rules)
    engine.warm_up()
    methods = {
        **SeedMethods(memories, rules).methods(),
        **engine.methods(),
        # On a connection that needed no token; so a client may say it everywhere.
        AUTHENTICATE: Method(lambda params: {"ok": True}, ("token",)),
    }
    for verb in VERBS.values():
        methods[_OURS + verb.name] = Method(partial(offer.call, verb), (*verb.fields, _WHOSE), verb.slow)
    methods["rpc.discover"] = Method(lambda params: {"methods": _described(methods)})
    return methods


def _described(methods: dict[str, Method]) -> list[dict[str, object]]:
    """Names, parameters and, for our verbs, what they do and the schemas of what they take and answer."""
    found: list[dict[str, object]] = []
    for name, method in methods.items():
        told: dict[str, object] = {"name": name, "params": list(method.fields)}
        verb = VERBS.get(name.removeprefix(_OURS)) if name.startswith(_OURS) else None
        if verb is not None:
            shapes = schema(verb.name)
            told |= {"description": verb.about, "danger": verb.danger.value}
            told |= {"input": shapes.input, "output": shapes.output}
        found.append(told)
    return found
