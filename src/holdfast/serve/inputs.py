"""Inputs of calls: classes made from signatures, payloads checked against them, and their JSON Schemas.

A number must be a number: "3" and true are rejected, not converted. Unknown fields are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, make_dataclass
from inspect import Parameter, signature
from itertools import islice
from typing import Annotated, Any, TypeVar, cast

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError

from holdfast.errors import InputError
from holdfast.serve.reference import PARAMETERS

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Count = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Flag = Annotated[bool, Strict()]
Names = Annotated[list[str], Field(fail_fast=True)]
Objects = Annotated[list[Mapping[str, object]], Field(fail_fast=True)]
"""Checking ends at the first wrong item, because a list may hold a million of them."""

_Model = TypeVar("_Model")
_MAX_NAMED = 5
"""Unknown fields that an error message names; a request has room for a million of them."""
_MAX_NAME_CHARS = 60

_WIRE_TYPES: Mapping[str, Any] = {
    "str": str,
    "int": Count,
    "float": Number,
    "bool": Flag,
    "Moment": str,
    "Metadata": Mapping[str, object],
    "Iterable[Mapping[str, object]]": Objects,
    "Sequence[Mapping[str, object]]": Objects,
    "Iterable[Mapping[str, object] | tuple[str | float, bool] | Label]": Objects,
}
"""JSON types by the annotation of a parameter, each of which may also be `| None`."""
_PYTHON_NAMES = {"id": "noun_id"}
_adapters: dict[type[object], TypeAdapter[object]] = {}


def input_class(verb: str, call: Callable[..., object]) -> type[object]:
    """Make the class of a verb's input from the function it calls and the table of help texts."""
    declared = signature(call).parameters
    made: list[Any] = []
    for name, about in PARAMETERS[verb].items():
        parameter = declared[_PYTHON_NAMES.get(name, name)]
        kind: Any = Annotated[_wire_type(parameter.annotation), Field(description=about)]
        made.append((name, kind) if parameter.default is Parameter.empty else (name, kind, parameter.default))
    rules = {"__pydantic_config__": ConfigDict(extra="forbid"), "__doc__": ""}
    return make_dataclass(verb, made, frozen=True, kw_only=True, namespace=rules)


def arguments_of(given: object) -> dict[str, object]:
    """Return a checked input as keyword arguments of the function that it was made from."""
    return {_PYTHON_NAMES.get(name, name): getattr(given, name) for name in field_names(type(given))}


def _wire_type(annotation: str) -> Any:
    required = annotation.removesuffix(" | None")
    return _WIRE_TYPES[required] if required == annotation else _WIRE_TYPES[required] | None


def field_names(model: type[object]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(model))  # type: ignore[arg-type]  # every input is a dataclass


def read_input(model: type[_Model], payload: Mapping[str, object], what: str) -> _Model:
    """Return the payload as an instance of the class, or raise an InputError that names every wrong field."""
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
    return cast("_Model", made)


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
