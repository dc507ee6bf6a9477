"""Errors as RFC 9457 tells them: `application/problem+json`, with the name of holdfast.errors and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from holdfast.serve.faults import INVALID_REQUEST, Fault
from holdfast.serve.json_text import encode

__all__ = ["PROBLEM", "Refusal", "problem", "told"]

PROBLEM = "application/problem+json"
_NAMED = "urn:holdfast:"


class Refusal(Exception):
    """A request that goes no further; it never reaches a memory."""

    def __init__(
        self, status: int, kind: str, message: str, advice: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.fault = Fault(kind, message, advice, INVALID_REQUEST, status)
        self.headers = headers or {}


def told(fault: Fault) -> dict[str, object]:
    """The body of an error."""
    return {
        "type": _NAMED + fault.type,
        "title": fault.type,
        "status": fault.status,
        "detail": fault.message,
        "advice": fault.advice,
    }


def problem(fault: Fault, headers: Mapping[str, str] | None = None) -> Response:
    kept = {"cache-control": "no-store", **(headers or {})}
    return Response(encode(told(fault)), fault.status, kept, media_type=PROBLEM)
