"""A method as JSON-RPC sees it, whoever defined it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

from pydantic import ConfigDict

from holdfast.serve.shapes import read_input

__all__ = ["Method", "Params", "SeedInput", "seed_method"]

Params = Mapping[str, object]
_Given = TypeVar("_Given")


@dataclass(frozen=True)
class Method:
    call: Callable[[Params], object]
    """Gives what json_text.encode can write; what it raises is told by faults.py."""
    fields: tuple[str, ...] = ()
    """Names of the parameters, for callers who give them by position."""
    slow: bool = False
    """Other calls of the connection do not wait for it."""


class SeedInput:
    """What one of the seed's methods is given, in its own spelling. Fields of later hosts are passed over."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


def seed_method(name: str, takes: type[_Given], run: Callable[[_Given], object], slow: bool = False) -> Method:
    names = tuple(field.name for field in fields(takes))  # type: ignore[arg-type]  # every input is a dataclass
    return Method(lambda params: run(read_input(takes, params, name)), names, slow)
