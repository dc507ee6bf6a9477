"""Between JSON and the typed classes: what was given is checked, and each shape has a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from holdfast.errors import InputError

__all__ = ["DIALECT", "input_schema", "output_schema", "pin", "read_input"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_Given = TypeVar("_Given")
_NAMED = 5
"""Unknown fields that an error names; a body has room for a million, and nobody reads them."""
_LONGEST_NAME = 60


def read_input(kind: type[_Given], payload: Mapping[str, object], what: str) -> _Given:
    """What was given as the class, or an InputError that names every field that is wrong, of unknown ones the first."""
    shape = _shape(kind)
    wrong: list[str] = []
    if not shape.names.issuperset(payload):
        wrong = [] if shape.passes_over_unknown else list(_unknown(shape.names, payload))
        payload = {name: value for name, value in payload.items() if name in shape.names}
    try:
        given = shape.adapter.validate_python(dict(payload))
    except ValidationError as error:
        told = (_told(dict(one)) for one in error.errors(include_url=False, include_context=False))
        raise InputError(f"{what}: {'; '.join([*told, *wrong])}") from error
    if wrong:
        raise InputError(f"{what}: {'; '.join(wrong)}")
    return cast("_Given", given)


def _unknown(known: frozenset[str], payload: Mapping[str, object]) -> Iterator[str]:
    for name in islice((name for name in payload if name not in known), _NAMED):
        yield f"there is no field {name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + '…'!r}"
    more = len(payload) - len(known.intersection(payload)) - _NAMED
    if more > 0:
        yield f"nor are there {more:,} others that were given"


def _told(error: Mapping[str, object]) -> str:
    place = error["loc"]
    assert isinstance(place, tuple)
    name = ".".join(str(part) for part in place)
    match error["type"]:
        case "missing":
            return f"{name} is missing"
        case "string_unicode":
            return f"{name} holds a lone surrogate, which no UTF-8 can keep"
    said = str(error["msg"])
    return f"{name}: {said[:1].lower()}{said[1:]}" if name else said


class _Shape:
    """What is known of a class of inputs; making one takes longer than a call."""

    def __init__(self, kind: type[object]) -> None:
        self.adapter: TypeAdapter[object] = TypeAdapter(kind)
        self.names = frozenset(field.name for field in fields(kind))  # type: ignore[arg-type]  # every one is a dataclass
        self.passes_over_unknown = getattr(kind, "__pydantic_config__", {}).get("extra") == "ignore"


_shapes: dict[type[object], _Shape] = {}


def _shape(kind: type[object]) -> _Shape:
    if kind not in _shapes:
        _shapes[kind] = _Shape(kind)
    return _shapes[kind]


def input_schema(kind: type[object]) -> dict[str, object]:
    """Of what a verb takes: defaults and descriptions included."""
    made = _shape(kind).adapter.json_schema(mode="validation")
    _without_titles(made)
    return {"$schema": DIALECT, **made}


def output_schema(form: object) -> dict[str, object]:
    """Of what a verb answers: every field is always written (wire.plain), and no other."""
    adapter: TypeAdapter[object] = TypeAdapter(form)  # type: ignore[arg-type]  # a union is a form, no class
    made = adapter.json_schema(mode="serialization")
    pin(made)
    return {"$schema": DIALECT, **made}


def pin(part: object, exact: bool = True) -> None:
    """Every field is required, and with `exact` there is no other: a new one changes the schema visibly."""
    if isinstance(part, list):
        for inner in part:
            pin(inner, exact)
    if not isinstance(part, dict):
        return
    part.pop("title", None)  # the field's name once more
    part.pop("default", None)
    fields = part.pop("properties", None)
    for inner in part.values():
        pin(inner, exact)
    if isinstance(fields, dict):
        for inner in fields.values():  # not the table itself: a field may be called "title"
            pin(inner, exact)
        part |= {"properties": fields, "required": list(fields), "additionalProperties": not exact}


def _without_titles(part: object) -> None:
    if isinstance(part, list):
        for inner in part:
            _without_titles(inner)
    if not isinstance(part, dict):
        return
    if isinstance(part.get("title"), str):
        del part["title"]
    for name, inner in part.items():
        for one in inner.values() if name == "properties" and isinstance(inner, dict) else (inner,):
            _without_titles(one)
