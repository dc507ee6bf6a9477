"""JSON-RPC 2.0: a line of JSON in, a line of JSON out. It knows no sockets and no memory, only methods."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.errors import InputError
from holdfast.serve.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Fault, fault_of
from holdfast.text.jsonio import NotJson, encode, read_json

_log = logging.getLogger("holdfast")

_Id = str | int | float | None
Params = Mapping[str, object]


@dataclass(frozen=True)
class Method:
    """A method as JSON-RPC sees it."""

    call: Callable[[Params], object]
    fields: tuple[str, ...] = ()
    """Names of the parameters, for callers who pass them by position."""
    slow: bool = False
    """Other calls of the connection do not wait for it."""


def failure(request_id: _Id, fault: Fault) -> dict[str, object]:
    """An error response. Its data names the error as holdfast.errors does, and says what to do."""
    error = {"code": fault.code, "message": fault.message, "data": {"type": fault.type, "advice": fault.advice}}
    return {"jsonrpc": "2.0", "error": error, "id": request_id}


def _invalid(message: str, code: int = INVALID_REQUEST, kind: str = "InvalidRequest", advice: str = "") -> Fault:
    return Fault(kind, message, advice or "Send what https://www.jsonrpc.org/specification describes.", code, 400)


@dataclass(frozen=True)
class _Call:
    """One request, checked; or the fault that it is."""

    method: Method | None
    name: str
    params: Params
    id: _Id
    answered: bool
    """False for a notification."""
    fault: Fault | None = None


@dataclass(frozen=True)
class Work:
    """What one line asks for."""

    calls: Sequence[_Call]
    batch: bool

    @property
    def slow(self) -> bool:
        return any(call.method is not None and call.method.slow for call in self.calls)

    @property
    def name(self) -> str:
        """The method, where there is one."""
        return "" if self.batch else self.calls[0].name

    def run(self) -> bytes | None:
        """Do it, in order; the line to answer with, or None when nobody asked for one."""
        answers = [answer for call in self.calls if (answer := _run(call)) is not None]
        if not answers:
            return None
        return encode(answers if self.batch else answers[0])


class Rpc:
    def __init__(self, methods: Mapping[str, Method], max_batch: int) -> None:
        self.methods = methods
        self._max_batch = max_batch

    def read(self, line: bytes) -> Work:
        """What a line asks for. A line that cannot be read is work too: to say so."""
        try:
            said = read_json(line)
        except NotJson as error:
            return _refusal(_invalid(str(error), PARSE_ERROR, "ParseError"))
        if not isinstance(said, list):
            return Work((self._read_call(said),), batch=False)
        if not said:
            return _refusal(_invalid("a batch holds at least one request"))
        if len(said) > self._max_batch:
            return _refusal(_invalid(f"a batch of {len(said)} requests; at most {self._max_batch} are taken"))
        return Work([self._read_call(one) for one in said], batch=True)

    def _read_call(self, said: object) -> _Call:
        if not isinstance(said, dict):
            return _faulty(None, _invalid("a request is an object"))
        request_id = said.get("id")
        if isinstance(request_id, bool) or not isinstance(request_id, str | int | float | None):
            return _faulty(None, _invalid("an id is a string, a number or null"))
        name, params = said.get("method"), said.get("params", {})
        if said.get("jsonrpc") != "2.0":
            return _faulty(request_id, _invalid('a request says "jsonrpc": "2.0"'))
        if not isinstance(name, str):
            return _faulty(request_id, _invalid("a request names its method"))
        if not isinstance(params, dict | list):
            return _faulty(request_id, _invalid("params is an object or an array"))
        method = self.methods.get(name)
        if method is None:
            advice = "rpc.discover lists the methods."
            fault = _invalid(f"there is no method {name!r}", METHOD_NOT_FOUND, "MethodNotFound", advice)
            return _Call(None, name, {}, request_id, "id" in said, fault)
        if isinstance(params, list):
            if len(params) > len(method.fields):
                fault = fault_of(InputError(f"{name} takes {len(method.fields)} parameters, not {len(params)}"))
                return _Call(None, name, {}, request_id, "id" in said, fault)
            params = dict(zip(method.fields, params, strict=False))
        return _Call(method, name, params, request_id, "id" in said)


def _faulty(request_id: _Id, fault: Fault) -> _Call:
    """What is no request is answered in any case: nobody knows whether an answer was wanted."""
    return _Call(None, "", {}, request_id, True, fault)


def _refusal(fault: Fault) -> Work:
    return Work((_faulty(None, fault),), batch=False)


def _run(call: _Call) -> dict[str, object] | None:
    fault, result = call.fault, None
    if call.method is not None:
        try:
            result = call.method.call(call.params)
        except Exception as error:  # every error is told, and none ends the connection
            fault = fault_of(error)
    if not call.answered:
        if fault is not None:  # the caller does not want to know; whoever reads the log may
            _log.warning("the notification %.60r failed: %s", call.name, fault.logged)
        return None
    if fault is not None:
        return failure(call.id, fault)
    return {"jsonrpc": "2.0", "result": result, "id": call.id}


# --- A stream of bytes as lines, each no longer than allowed; a longer one is skipped, never held.


_CHUNK = 1 << 16


def lines(read: Callable[[int], bytes], most: int) -> Iterator[bytes | None]:
    """Lines without their ends, blank ones left out; None stands for one that was too long.

    `read(n)` gives up to n bytes and nothing at the end. A last line without an end counts too.
    """
    held, skipping = bytearray(), False
    while chunk := read(_CHUNK):
        searched = len(held)
        held += chunk
        start = 0
        while (end := held.find(b"\n", max(searched, start))) >= 0:
            line = bytes(held[start:end])
            start = end + 1
            if skipping or len(line) > most:
                skipping = False
                yield None
            elif line.strip():
                yield line
        del held[:start]
        if len(held) > most:
            held.clear()
            skipping = True
    if skipping:
        yield None
    elif held.strip():
        yield bytes(held)
