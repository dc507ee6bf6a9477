"""JSON-RPC 2.0 as its specification has it, its own examples first."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.serve.mcp.early import read_lines
from holdfast.serve.rpc import JsonRpc, Method

RPC = JsonRpc(
    {
        "subtract": Method(
            lambda params: _int(params["minuend"]) - _int(params["subtrahend"]), ("minuend", "subtrahend")
        ),
        "update": Method(lambda params: None, ("a", "b", "c", "d", "e")),
        "foobar2": Method(lambda params: None),
        "sum": Method(lambda params: sum(_int(value) for value in params.values()), ("a", "b", "c")),
        "notify_hello": Method(lambda params: None, ("n",)),
        "get_data": Method(lambda params: ["hello", 5]),
        "break": Method(lambda params: params["secret text"]),
        "echo": Method(lambda params: params["x"], ("x",)),
    },
    max_batch=10,
)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def answer(line: str | bytes) -> object:
    said = RPC.read(line.encode() if isinstance(line, str) else line).run()
    return None if said is None else json.loads(said)


def code(line: str | bytes) -> tuple[object, object]:
    said = answer(line)
    assert isinstance(said, dict) and said["jsonrpc"] == "2.0" and "result" not in said
    return said["error"]["code"], said["id"]


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', 19),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 1}', -19),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 1}', 19),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 1}', 19),
    ],
)
def test_parameters_are_accepted_by_position_and_by_name(line: str, expected: int) -> None:
    assert answer(line) == {"jsonrpc": "2.0", "result": expected, "id": 1}


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}',
        '{"jsonrpc": "2.0", "method": "foobar2"}',
        '{"jsonrpc": "2.0", "method": "there is none"}',
        '{"jsonrpc": "2.0", "method": "break"}',
        '[{"jsonrpc": "2.0", "method": "update", "params": [1]}, {"jsonrpc": "2.0", "method": "notify_hello"}]',
    ],
)
def test_a_notification_gets_no_response(line: str) -> None:
    assert answer(line) is None


@pytest.mark.requirement("API-2")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', (-32601, "1")),
        ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', (-32700, None)),
        ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": "bar", "id": 7}', (-32600, 7)),
        (
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
            (-32700, None),
        ),
        ("[]", (-32600, None)),
        ("1", (-32600, None)),
        ('{"method": "sum", "id": 2}', (-32600, 2)),
        ('{"jsonrpc": "2.0", "method": "sum", "id": true}', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "sum", "id": {"a": 1}}', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [1, 2, 3], "id": 3}', (-32602, 3)),
        ('{"jsonrpc": "2.0", "method": "break", "id": null}', (-32603, None)),
        ("[" + ",".join(["1"] * 11) + "]", (-32600, None)),
    ],
)
def test_errors_have_the_codes_of_the_specification(line: str, expected: tuple[int, object]) -> None:
    assert code(line) == expected


@pytest.mark.requirement("API-2")
def test_a_batch_gets_one_response_without_its_notifications() -> None:
    said = answer(
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
        ' {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},'
        ' {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, {"foo": "boo"},'
        ' {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},'
        ' {"jsonrpc": "2.0", "method": "get_data", "id": "9"}]'
    )
    assert isinstance(said, list)
    assert [(one.get("result"), one.get("error", {}).get("code"), one["id"]) for one in said] == [
        (7, None, "1"), (19, None, "2"), (None, -32600, None), (None, -32601, "5"), (["hello", 5], None, "9"),
    ]  # fmt: skip
    assert [one["error"]["code"] for one in answer("[1,2,3]")] == [-32600] * 3  # type: ignore[attr-defined]


@pytest.mark.requirement("API-2", "SAFE-4")
@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe{}",
        b"[" * 200_000,
        b'{"jsonrpc": "2.0", "method": "echo", "params": [NaN], "id": 1}',
        b'{"jsonrpc": "2.0", "method": "echo", "params": [-Infinity], "id": 1}',
        b'{"jsonrpc": "2.0", "method": "echo", "params": [1e999], "id": 1}',
        b'{"jsonrpc": "2.0", "method": "echo", "params": [1], "id": -1e999}',
        b'{"jsonrpc": "2.0", "method": "echo", "params": [' + b"9" * 5000 + b'], "id": 1}',
        b"\x00",
        b'{"a": 1} {"b": 2}',
    ],
    ids=[
        "no UTF-8",
        "deep",
        "NaN",
        "infinity",
        "a number that is none",
        "an id that is none",
        "5,000 digits",
        "NUL",
        "two documents",
    ],
)
def test_invalid_json_gets_an_error_and_the_connection_continues(line: bytes) -> None:
    assert code(line) == (-32700, None)


@pytest.mark.requirement("API-2", "SAFE-4")
def test_unexpected_errors_are_not_quoted() -> None:
    said = RPC.read(b'{"jsonrpc": "2.0", "method": "break", "id": 1}').run()
    assert said is not None and b"secret text" not in said and b"InternalError" in said


@pytest.mark.requirement("API-2", "SAFE-4")
@given(st.text(), st.one_of(st.text(), st.integers(), st.none()))
def test_any_text_and_id_round_trips(text: str, request_id: str | int | None) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "echo", "params": [text + "\ud800"], "id": request_id}).encode()
    said = RPC.read(line).run()
    assert said is not None and said.count(b"\n") == 1
    assert json.loads(said) == {"jsonrpc": "2.0", "result": text + "\ud800", "id": request_id}


def _pieces(data: bytes, sizes: list[int]) -> Callable[[int], bytes]:
    held, left = [data], list(sizes)

    def read(most: int) -> bytes:
        size = min(left.pop(0) if left else most, most)
        piece, held[0] = held[0][:size], held[0][size:]
        return piece

    return read


@pytest.mark.requirement("API-2", "SAFE-4")
@given(
    st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.lists(st.integers(1, 9))
)
def test_lines_do_not_depend_on_chunks_and_long_ones_are_skipped(parts: list[bytes], sizes: list[int]) -> None:
    expected = [None if len(part) > 6 else part for part in parts if part.strip() or len(part) > 6]
    assert list(read_lines(_pieces(b"\n".join([*parts, b""]), sizes), 6)) == expected
