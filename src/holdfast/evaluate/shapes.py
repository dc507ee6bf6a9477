"""A set's file in the shape its bench expects, or an error that says where it differs."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from holdfast.errors import InputError

__all__ = ["read_shape"]

Shape = TypeVar("Shape")


def read_shape(shape: type[Shape], data: object, path: Path, what: str) -> Shape:
    try:
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(f"{path} is not a file of {what}: {where}: {first['msg']}") from error
