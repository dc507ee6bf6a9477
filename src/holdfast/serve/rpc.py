"""JSON-RPC 2.0: one line of JSON in, one line of JSON out. Independent of sockets and memories."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.errors import InputError
from holdfast.serve.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Failure, failure_of
from holdfast.text.jsonio import NotJson, encode, read_json

_log = logging.getLogger("holdfast")

RequestId = str | int | float | None
Params = Mapping[str, object]


@dataclass(frozen=True)
class Method:
    call: Callable[[Params], object]
    fields: tuple[str, ...] = ()
    """Names of the parameters, for callers who pass them by position."""
    slow: bool = False
    """Other calls of the connection do not wait for it."""


@dataclass(frozen=True)
class RpcCall:
    """One checked request, or the reason why it is invalid."""

    method: Method | None
    name: str
    params: Params
    id: RequestId
    answered: bool
    """False for a notification."""
    failure: Failure | None = None


@dataclass(frozen=True)
class RpcRequest:
    """The calls of one line."""

    calls: Sequence[RpcCall]
    batch: bool

    @property
    def slow(self) -> bool:
        return any(call.method is not None and call.method.slow for call in self.calls)

    @property
    def name(self) -> str:
        """The method of a single call."""
        return "" if self.batch else self.calls[0].name

    def run(self) -> bytes | None:
        """Run the calls in order; return the response line, or None if they are all notifications."""
        responses = [response for call in self.calls if (response := _run(call)) is not None]
        if not responses:
            return None
        return encode(responses if self.batch else responses[0])


class JsonRpc:
    def __init__(self, methods: Mapping[str, Method], max_batch: int) -> None:
        self.methods = methods
        self._max_batch = max_batch

    def read(self, line: bytes) -> RpcRequest:
        """Parse a line. An invalid line becomes a request whose response says so."""
        try:
            document = read_json(line)
        except NotJson as error:
            return _invalid_request(_failure(str(error), PARSE_ERROR, "ParseError"))
        if not isinstance(document, list):
            return RpcRequest((self._read_call(document),), batch=False)
        if not document:
            return _invalid_request(_failure("a batch must hold at least one request"))
        if len(document) > self._max_batch:
            return _invalid_request(
                _failure(f"the batch holds {len(document)} requests; the maximum is {self._max_batch}")
            )
        return RpcRequest([self._read_call(one) for one in document], batch=True)

    def _read_call(self, document: object) -> RpcCall:
        if not isinstance(document, dict):
            return _invalid_call(None, "a request must be an object")
        request_id = document.get("id")
        if isinstance(request_id, bool) or not isinstance(request_id, str | int | float | None):
            return _invalid_call(None, "an id must be a string, a number or null")
        name, params = document.get("method"), document.get("params", {})
        if document.get("jsonrpc") != "2.0":
            return _invalid_call(request_id, 'a request must have "jsonrpc": "2.0"')
        if not isinstance(name, str):
            return _invalid_call(request_id, "a request must name its method")
        if not isinstance(params, dict | list):
            return _invalid_call(request_id, "params must be an object or an array")
        method = self.methods.get(name)
        answered = "id" in document
        if method is None:
            advice = "rpc.discover lists the methods."
            unknown = _failure(f"there is no method {name!r}", METHOD_NOT_FOUND, "MethodNotFound", advice)
            return RpcCall(None, name, {}, request_id, answered, unknown)
        if isinstance(params, list):
            if len(params) > len(method.fields):
                error = InputError(f"{name} takes {len(method.fields)} parameters, not {len(params)}")
                return RpcCall(None, name, {}, request_id, answered, failure_of(error))
            params = dict(zip(method.fields, params, strict=False))
        return RpcCall(method, name, params, request_id, answered)


def error_response(request_id: RequestId, failure: Failure) -> dict[str, object]:
    """Return an error response; its data holds the name of the error and advice."""
    data = {"type": failure.type, "advice": failure.advice}
    return {
        "jsonrpc": "2.0",
        "error": {"code": failure.code, "message": failure.message, "data": data},
        "id": request_id,
    }


def _failure(message: str, code: int = INVALID_REQUEST, kind: str = "InvalidRequest", advice: str = "") -> Failure:
    return Failure(kind, message, advice or "See https://www.jsonrpc.org/specification for valid requests.", code, 400)


def _invalid_call(request_id: RequestId, reason: str) -> RpcCall:
    """An invalid request is always answered, because it is unknown whether an answer was expected."""
    return RpcCall(None, "", {}, request_id, True, _failure(reason))


def _invalid_request(failure: Failure) -> RpcRequest:
    return RpcRequest((RpcCall(None, "", {}, None, True, failure),), batch=False)


def _run(call: RpcCall) -> dict[str, object] | None:
    failure, result = call.failure, None
    if call.method is not None:
        try:
            result = call.method.call(call.params)
        except Exception as error:  # every error becomes a response, and none ends the connection
            failure = failure_of(error)
    if not call.answered:
        if failure is not None:  # the caller does not want to know, but the operator may
            _log.warning("the notification %.60r failed: %s", call.name, failure.logged)
        return None
    if failure is not None:
        return error_response(call.id, failure)
    return {"jsonrpc": "2.0", "result": result, "id": call.id}
