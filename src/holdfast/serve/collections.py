"""The seed's collections, and what each of them is here.

session:ID            the turns of one conversation, and the summaries that stand for old ones
turns:USER            every turn of a user
user:USER             a user's durable records
global                what the operator keeps for everybody
elevated:user:USER    the guidance that compaction kept word for word; elevated:session:ID that of one conversation
authored:hard         the rule files that the server was started with; soft and variant likewise
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.context.authored import NodeKind
from holdfast.errors import InputError
from holdfast.recall.search import GLOBAL

__all__ = ["Collection", "Layer", "read_collection"]


class Layer(StrEnum):
    SESSION = "session"
    TURNS = "turns"
    USER = "user"
    GLOBAL = "global"
    ELEVATED_USER = "elevated:user"
    ELEVATED_SESSION = "elevated:session"
    AUTHORED = "authored"


@dataclass(frozen=True)
class Collection:
    layer: Layer
    name: str = ""
    """Of the session, the user, or the kind of rule."""

    @property
    def namespace(self) -> str | None:
        """Whose memory it lies in; None: the connection's."""
        if self.layer is Layer.GLOBAL:
            return GLOBAL
        return self.name if self.layer in (Layer.TURNS, Layer.USER, Layer.ELEVATED_USER) else None

    def __str__(self) -> str:
        return f"{self.layer.value}:{self.name}" if self.name else self.layer.value


_NAMED = (Layer.ELEVATED_USER, Layer.ELEVATED_SESSION, Layer.SESSION, Layer.TURNS, Layer.USER, Layer.AUTHORED)


def read_collection(name: str) -> Collection:
    """By exact names: `user:al` is not part of `user:alice`."""
    if name == GLOBAL:
        return Collection(Layer.GLOBAL)
    for layer in _NAMED:
        rest = name.removeprefix(f"{layer.value}:")
        if rest != name and rest:
            if layer is Layer.AUTHORED and rest not in set(NodeKind):
                raise InputError(f"there is no collection {name!r}: rules are authored:{', authored:'.join(NodeKind)}")
            return Collection(layer, rest)
    raise InputError(
        f"there is no collection {name!r}; there are session:ID, turns:USER, user:USER, global, elevated:user:USER, "
        "elevated:session:ID and authored:hard, authored:soft, authored:variant"
    )
