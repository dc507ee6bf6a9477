"""Inputs of calls: classes made from signatures, payloads checked against them, and their JSON Schemas.

A number must be a number: "3" and true are rejected, not converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, make_dataclass
from inspect import Parameter, signature
from itertools import islice
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PlainValidator, Strict, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from holdfast.errors import InputError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ID = "noun_id"
"""The parameter of Memory that is called `id` on the wire."""

_Count = Annotated[int, Strict()]
_Number = Annotated[float, Strict()]
_Flag = Annotated[bool, Strict()]
# Checking ends at the first wrong item, because a list may hold a million of them.
_Names = Annotated[list[str], Field(fail_fast=True)]
_Objects = Annotated[list[Mapping[str, object]], Field(fail_fast=True)]


def _check_content(content: object) -> object:
    """Check the content of a message roughly: Memory knows its parts, and a union would complain twice."""
    parts = [content] if isinstance(content, str) else content
    if not isinstance(parts, list) or not all(isinstance(one, str | Mapping) for one in parts):
        raise PydanticCustomError("content", "Input should be a valid string or a list of content parts")
    return content


_PARTS = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}}
_Content = Annotated[
    Any, PlainValidator(_check_content), WithJsonSchema({"anyOf": [{"type": "string"}, _PARTS]}, mode="validation")
]
_WIRE_TYPES: Mapping[str, Any] = {
    "str": str,
    "int": _Count,
    "float": _Number,
    "bool": _Flag,
    "Moment": str,
    "Metadata": Mapping[str, object],
    "Content": _Content,
    "list[str]": _Names,
    "list[Mapping[str, object]]": _Objects,
    "Iterable[Mapping[str, object]]": _Objects,
    "Sequence[Mapping[str, object]]": _Objects,
    "Iterable[Mapping[str, object] | tuple[str | float, bool] | Label]": _Objects,
}
"""JSON types by the annotation of a parameter, each of which may also be `| None`."""

_MAX_NAMED = 5
"""Unknown fields that an error message names; a request has room for a million of them."""
_MAX_NAME_CHARS = 60
_adapters: dict[type[object], TypeAdapter[object]] = {}


def input_class(name: str, call: Callable[..., object], about: Mapping[str, str] | None = None) -> type[object]:
    """Make the class of a call's input from the signature of the function.

    With descriptions (`about`) it has exactly the described fields; without, it has every parameter and ignores unknown
    fields.
    """
    declared = {"id" if one == ID else one: parameter for one, parameter in signature(call).parameters.items()}
    made: list[Any] = []
    for one in about if about is not None else [one for one in declared if one != "self"]:
        kind: Any = _wire_type(declared[one].annotation)
        if about is not None:
            kind = Annotated[kind, Field(description=about[one])]
        default = declared[one].default
        made.append((one, kind) if default is Parameter.empty else (one, kind, default))
    config = ConfigDict(extra="ignore" if about is None else "forbid")
    rules = {"__pydantic_config__": config, "__doc__": ""}
    return make_dataclass(name, made, frozen=True, kw_only=True, namespace=rules)


def _wire_type(annotation: str) -> Any:
    required = annotation.removesuffix(" | None")
    return _WIRE_TYPES[required] if required == annotation else _WIRE_TYPES[required] | None


def field_names(model: type[object]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(model))  # type: ignore[arg-type]  # every input is a dataclass


def read_arguments(model: type[object], payload: Mapping[str, object], what: str) -> dict[str, object]:
    """Check a payload and return it as keyword arguments; raise an InputError that names every wrong field."""
    known = field_names(model)
    unknown: list[str] = []
    if not payload.keys() <= set(known):
        forbidden = getattr(model, "__pydantic_config__", {}).get("extra") == "forbid"
        unknown = list(_unknown_fields(known, payload)) if forbidden else []
        payload = {name: value for name, value in payload.items() if name in known}
    try:
        made = _adapter(model).validate_python(dict(payload))
    except ValidationError as error:
        wrong = [_describe(dict(one)) for one in error.errors(include_url=False, include_context=False)]
        raise InputError(f"{what}: {'; '.join(wrong + unknown)}") from error
    if unknown:
        raise InputError(f"{what}: {'; '.join(unknown)}")
    return {name: getattr(made, name) for name in known}


def _adapter(model: type[object]) -> TypeAdapter[object]:
    if model not in _adapters:  # making one takes longer than a call
        _adapters[model] = TypeAdapter(model)
    return _adapters[model]


def _unknown_fields(known: tuple[str, ...], payload: Mapping[str, object]) -> Iterator[str]:
    for name in islice((name for name in payload if name not in known), _MAX_NAMED):
        yield f"unknown field {name if len(name) <= _MAX_NAME_CHARS else name[:_MAX_NAME_CHARS] + '…'!r}"
    more = len(payload.keys() - set(known)) - _MAX_NAMED
    if more > 0:
        yield f"and {more:,} more unknown fields"


def _describe(error: Mapping[str, object]) -> str:
    place = error["loc"]
    assert isinstance(place, tuple)
    name = ".".join(str(part) for part in place)
    match error["type"]:
        case "missing":
            return f"{name} is missing"
        case "string_unicode":
            return f"{name} contains a lone surrogate, which UTF-8 cannot encode"
    message = str(error["msg"])
    return f"{name}: {message[:1].lower()}{message[1:]}" if name else message


# --- JSON Schemas


def input_schema(model: type[object]) -> dict[str, object]:
    """Return the schema of an input, with defaults and descriptions."""
    made = _adapter(model).json_schema(mode="validation")
    made.pop("title", None)
    for field in made.get("properties", {}).values():
        field.pop("title", None)
    return {"$schema": DIALECT, **made}


def output_schema(answer: object) -> dict[str, object]:
    """Return the schema of an answer: every field is always present, and there are no others."""
    adapter: TypeAdapter[object] = TypeAdapter(answer)  # type: ignore[arg-type]  # a union is not a class
    made = adapter.json_schema(mode="serialization")
    pin(made)
    return {"$schema": DIALECT, **made}


def pin(part: object, exact: bool = True) -> None:
    """Require every field of a schema; with `exact` allow no others, so that a new field shows up as a change."""
    if isinstance(part, list):
        for inner in part:
            pin(inner, exact)
    if not isinstance(part, dict):
        return
    part.pop("title", None)
    part.pop("default", None)
    properties = part.pop("properties", None)
    for inner in part.values():
        pin(inner, exact)
    if isinstance(properties, dict):
        for inner in properties.values():  # not the table itself: a field may be called "title"
            pin(inner, exact)
        part |= {"properties": properties, "required": list(properties), "additionalProperties": not exact}
