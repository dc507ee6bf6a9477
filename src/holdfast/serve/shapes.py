"""Between JSON and the typed classes: what was given is checked, and each shape has a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from holdfast.errors import InputError

__all__ = ["DIALECT", "input_schema", "output_schema", "pin", "read_input"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_Given = TypeVar("_Given")


def read_input(kind: type[_Given], payload: Mapping[str, object], what: str) -> _Given:
    """What was given as the class, or an InputError that names every field that is wrong."""
    try:
        return cast("_Given", _adapter(kind).validate_python(dict(payload)))
    except ValidationError as error:
        wrong = "; ".join(_told(dict(one)) for one in error.errors(include_url=False, include_context=False))
        raise InputError(f"{what}: {wrong}") from error


def _told(error: Mapping[str, object]) -> str:
    place = error["loc"]
    assert isinstance(place, tuple)
    name = ".".join(str(part) for part in place)
    match error["type"]:
        case "missing":
            return f"{name} is missing"
        case "unexpected_keyword_argument":
            return f"there is no field {name!r}"
        case "string_unicode":
            return f"{name} holds a lone surrogate, which no UTF-8 can keep"
    said = str(error["msg"])
    return f"{name}: {said[:1].lower()}{said[1:]}" if name else said


_adapters: dict[type[object], TypeAdapter[object]] = {}  # making one takes longer than a call


def _adapter(kind: type[object]) -> TypeAdapter[object]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def input_schema(kind: type[object]) -> dict[str, object]:
    """Of what a verb takes: defaults and descriptions included."""
    made = _adapter(kind).json_schema(mode="validation")
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
