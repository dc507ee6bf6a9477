"""The OpenAPI document, made from the verbs and their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from holdfast.serve.inputs import DIALECT
from holdfast.serve.verbs import VERBS, schema
from holdfast.version import __version__

_REFS = "#/components/schemas/"
_DEFS = "#/$defs/"
_NAMESPACE = {"$ref": "#/components/parameters/Namespace"}
_ERRORS = {
    "400": "The body is not JSON, the path is irregular (.., //, %2f), or no namespace is named.",
    "401": "The token is missing or wrong.",
    "403": "Wrong Host or Origin, or the memory of another namespace.",
    "404": "Unknown id or session in this namespace.",
    "408": "The body did not arrive in time.",
    "409": "Background work did not catch up in time; nothing is lost.",
    "413": "The body is too large.",
    "415": "The body is not application/json.",
    "422": "A field is missing, unknown or wrong; `detail` names it.",
    "429": "Too many requests; Retry-After says how long to wait.",
    "503": "Too many requests at once, the store is busy, a model is unavailable, or the server is stopping.",
}
_OF_VERBS = ("404", "409", "415", "422")
"""Errors that only verbs have."""


@cache
def openapi() -> dict[str, object]:
    """Return the document (OpenAPI 3.1); `make contract` writes it to contract/openapi.json."""
    shapes: dict[str, object] = {"Problem": _PROBLEM}
    paths = {f"/v1/{name}": {"post": _operation(name, shapes)} for name in VERBS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": __version__,
            "description": "Long-term memory for LLM agents. Every verb is a POST of one JSON object.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "jsonSchemaDialect": DIALECT,
        "security": [{"token": []}],
        "paths": paths | _OTHERS,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The token in the server's token file."}
            },
            "parameters": {"Namespace": _HEADER},
            "responses": {status: _problem(about) for status, about in _ERRORS.items()},
            "schemas": dict(sorted(shapes.items())),
        },
    }


def _operation(name: str, shapes: dict[str, object]) -> dict[str, object]:
    verb, known = VERBS[name], schema(name)
    given = _hoisted(known.input, f"{name}-input", shapes)
    answer = _hoisted(known.output, f"{name}-answer", shapes)
    return {
        "operationId": name,
        "summary": verb.about,
        "description": f"Danger: {verb.danger.value}.",
        "tags": [verb.danger.value],
        "parameters": [_NAMESPACE],
        "requestBody": {"required": bool(known.input.get("required")), "content": _content(given)},
        "responses": {"200": {"description": "The answer of the verb.", "content": _content(answer)}, **_all_errors()},
    }


def _hoisted(known: Mapping[str, object], name: str, shapes: dict[str, object]) -> dict[str, object]:
    """Move a schema and its definitions into the document; return the reference to it."""
    inner = known.get("$defs", {})
    assert isinstance(inner, dict)
    names = {
        one: one if shapes.get(one) in (None, _pointed(made, {})) else f"{name}-{one}" for one, made in inner.items()
    }
    for one, made in inner.items():
        shapes[names[one]] = _pointed(made, names)
    shapes[name] = _pointed({key: value for key, value in known.items() if key not in ("$defs", "$schema")}, names)
    return {"$ref": _REFS + name}


def _pointed(part: object, names: Mapping[str, str]) -> object:
    """Rewrite references to point into the document."""
    if isinstance(part, list):
        return [_pointed(one, names) for one in part]
    if not isinstance(part, dict):
        return part
    found: dict[str, object] = {}
    for key, value in part.items():
        if key == "$ref" and isinstance(value, str) and value.startswith(_DEFS):
            inner = value.removeprefix(_DEFS)
            found[key] = _REFS + names.get(inner, inner)
        else:
            found[key] = _pointed(value, names)
    return found


def _content(shape: Mapping[str, object], media: str = "application/json") -> dict[str, object]:
    return {media: {"schema": shape}}


def _problem(about: str) -> dict[str, object]:
    return {"description": about, "content": _content({"$ref": _REFS + "Problem"}, "application/problem+json")}


def _all_errors(*left_out: str) -> dict[str, object]:
    return {status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS if status not in left_out}


_HEADER: dict[str, object] = {
    "name": "Holdfast-Namespace",
    "in": "header",
    "required": False,
    "description": "The namespace, as UTF-8 (default: the server's own). A credential that is bound to a namespace "
    "can use no other.",
    "schema": {"type": "string", "minLength": 1},
}
_PROBLEM: dict[str, object] = {
    "type": "object",
    "description": "RFC 9457.",
    "properties": {
        "type": {"type": "string", "description": "urn:holdfast: and the name of the error."},
        "title": {"type": "string", "description": "Name of the error in holdfast.errors."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened."},
        "advice": {"type": "string", "description": "What to do about it."},
    },
    "required": ["type", "title", "status", "detail", "advice"],
    "additionalProperties": False,
}
_TEXT: dict[str, object] = {"type": "string"}
_OK: dict[str, object] = {
    "type": "object",
    "properties": {"ok": {"const": True}},
    "required": ["ok"],
    "additionalProperties": False,
}


def _reading(name: str, about: str, answer: dict[str, object], *left_out: str) -> dict[str, dict[str, object]]:
    """Describe a GET that is not a verb."""
    done = {"description": "The requested document.", "content": answer}
    return {"get": {"operationId": name, "summary": about, "responses": {"200": done, **_all_errors(*left_out)}}}


_export = _reading(
    "export",
    "Export the log of a namespace, one JSON object per line; the last line marks a complete stream. "
    "`holdfast import` reads it.",
    _content(_TEXT, "application/x-ndjson"),
)
_health = _reading("healthz", "Report that the server answers; needs no token.", _content(_OK), "401", *_OF_VERBS)
_OTHERS: dict[str, object] = {
    "/v1/export": {"get": {**_export["get"], "parameters": [_NAMESPACE]}},
    "/healthz": {"get": {**_health["get"], "security": []}},
    "/metrics": _reading(
        "metrics", "Return metrics in the text format of Prometheus.", _content(_TEXT, "text/plain"), *_OF_VERBS
    ),
    "/openapi.json": _reading("openapi", "Return this document.", _content({"type": "object"}), *_OF_VERBS),
}
