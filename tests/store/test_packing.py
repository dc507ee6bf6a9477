"""Vectors and signals are packed, and rows of older stores are read as they are."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import SIGNALS
from holdfast.store.rows import pack_vectors, unpack_vectors
from tests.support.memories import EAGER, OpenMemory, answers, assistant, ingest_month, user

_CLAIM = 5  # codes of spaces in the keys of vectors (store/sqlite/transaction.py)
_TOLD = 2
_DIGEST = 16


@given(st.lists(st.sampled_from([16, 32, 256]), max_size=20), st.booleans())
def test_packed_vectors_unpack_bit_for_bit(sizes: list[int], rounded: bool) -> None:
    chance = np.random.default_rng(len(sizes))
    vectors = [chance.normal(size=size).astype("<f4") for size in sizes]
    if rounded:
        vectors = [vector.astype("<f2").astype("<f4") for vector in vectors]
    given_ = [vector.tobytes() for vector in vectors] + [b"", np.float32(0.4).tobytes()]
    stored = pack_vectors(given_)
    assert unpack_vectors(stored) == given_
    assert (
        all(len(one) == len(full) // 2 + 1 for one, full in zip(stored[:-2], given_[:-2], strict=True)) or not rounded
    )


def test_a_number_too_large_for_float16_stays_float32() -> None:
    vector = np.full(32, 1e30, "<f4").tobytes()
    assert pack_vectors([vector]) == [vector]


@pytest.mark.requirement("INV-4")
def test_a_turn_has_one_float16_vector_unless_its_statements_differ(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(settings=EAGER, embedder="static")
    memory.ingest_many(
        [
            user("Thanks a lot, that was great! My sister Ida keeps bees in Ghent."),
            assistant("How lovely. How many hives does she have?"),
            user("Eleven, and a twelfth is planned."),
        ]
    )
    memory.flush()
    sizes = _sizes(tmp_path / "memory.db")
    assert sizes[0] == [513, 513, 513]
    assert sizes[_TOLD] == [513, 0, 0]


@pytest.mark.requirement("INV-3")
def test_float32_vectors_and_json_signals_of_older_stores_give_the_same_answers(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(settings=EAGER, embedder="static")
    ingest_month(memory, 120)
    memory.flush()
    said = answers(memory)
    memory.close()
    _as_before(tmp_path / "memory.db")
    again = open_memory(settings=EAGER, embedder="static")
    assert answers(again) == said
    again.rebuild()
    assert answers(again) == said


def _sizes(path: Path) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pos, size in apsw.Connection(str(path)).execute("SELECT pos, length(data) FROM vectors ORDER BY pos"):
        found.setdefault(pos >> 34 & 7, []).append(size)
    return found


def _as_before(path: Path) -> None:
    """Rewrite the rows as a program of schema 3 wrote them: migrations leave them as they are."""
    connection = apsw.Connection(str(path))
    rows = dict(connection.execute("SELECT pos, data FROM vectors"))
    for pos, data in rows.items():
        if pos >> 34 & 7 == _CLAIM:
            data = data[:_DIGEST] + np.frombuffer(data[_DIGEST:], "<f2").astype("<f4").tobytes()
        else:
            (data,) = unpack_vectors([data or rows[pos - (_TOLD << 34)]])
        connection.execute("UPDATE vectors SET data = ? WHERE pos = ?", (data, pos))
    for pos, data in list(connection.execute("SELECT pos, data FROM signals")):
        signals = dict(zip(SIGNALS, np.frombuffer(data, "<f8").tolist(), strict=True))
        connection.execute("UPDATE signals SET data = ? WHERE pos = ?", (json.dumps(signals), pos))
    connection.close()
