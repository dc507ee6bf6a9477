"""Measure an index of vectors on the server against the scan that is used, for docs/evidence/postgres.md.

    python -m tests.postgres.vector_index server 100000     # pgvector's HNSW beside the scan: minutes, to build it
    python -m tests.postgres.vector_index search 20000      # whole searches that know the scores of the nearest alone

Neither is a test: an index is not built (docs/evidence/postgres.md says why), and these figures are the reason.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import simsimd
from numpy.typing import NDArray

import holdfast.search.retrieve as retrieve
from holdfast.index.blocks import Segment, quantise
from holdfast.memory import Memory
from holdfast.models.embedder import StaticEmbedder
from holdfast.probe.metrics import top_share
from holdfast.settings import AdmitSettings, load_settings
from holdfast_bench.chatter import chatter, questions
from tests.support.postgres_server import Throwaway

Scores = NDArray[np.float32]

ASKED = 60
NS = UUID(int=1)
WHERE = f"ns = '{NS}' AND slot = 0 AND space = 4"


# --- the server's index


def measure_server(turns: int) -> None:
    """Return the CPU time of the thread of the scan and of the process of the server: other programs may be running."""
    sessions = list(chatter(turns, 0))
    embedder = StaticEmbedder()
    texts = [str(message["content"]) for _, messages in sessions for message in messages][:turns]
    vectors = np.concatenate([embedder.embed(texts[at : at + 2000]) for at in range(0, turns, 2000)])
    vectors = vectors.astype(np.float16).astype(np.float32)
    asked = embedder.embed(questions(sessions, ASKED, 0)) - vectors.mean(axis=0)
    codes, scales = quantise(vectors)
    server = Throwaway()
    try:
        with closing(psycopg.connect(server.admin, autocommit=True)) as connection:
            _fill(connection, vectors)
            for nearest in (100, 400, 1000):
                _compare(connection, vectors, codes, scales, asked, nearest)
            _insert(connection, vectors[:1000], len(vectors))
    finally:
        server.stop()


def _fill(connection: psycopg.Connection[Any], vectors: Scores) -> None:
    connection.execute(
        """CREATE EXTENSION vector; SET maintenance_work_mem = '1GB'; SET enable_seqscan = off;
           CREATE TABLE v (ns UUID, slot SMALLINT, space SMALLINT, num BIGINT, near HALFVEC,
                           PRIMARY KEY (ns, slot, space, num))"""
    )
    with connection.cursor().copy("COPY v FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for number, row in enumerate(vectors.astype(">f2")):
            near = struct.pack("!hh", len(row), 0) + row.tobytes()
            copy.write(struct.pack("!hI16sIhIhIqI", 5, 16, NS.bytes, 2, 0, 2, 4, 8, number, len(near)) + near)
        copy.write(struct.pack("!h", -1))
    start = time.perf_counter()
    connection.execute(
        f"CREATE INDEX near ON v USING hnsw ((near::halfvec({vectors.shape[1]})) halfvec_ip_ops) WHERE {WHERE}".encode()
    )
    size = connection.execute("SELECT pg_relation_size('near')").fetchone() or (0,)
    print(f"built in {time.perf_counter() - start:.0f} s, {size[0] / 1e6:.0f} MB", flush=True)


def _compare(
    connection: psycopg.Connection[Any], vectors: Scores, codes: NDArray[np.int8], scales: Scores, asked: Scores, n: int
) -> None:
    connection.execute(f"SET hnsw.ef_search = {n}".encode())
    wanted = f"near::halfvec({vectors.shape[1]}) <#> %s::halfvec({vectors.shape[1]})"
    sql = f"SELECT num FROM v WHERE {WHERE} ORDER BY {wanted} LIMIT {n}".encode()
    scanned, served, found = [], [], []
    for question in asked:
        begun = time.thread_time()
        code, scale = quantise(question[None])
        products = np.asarray(simsimd.cdist(code, codes, "dot", out_dtype="float32"))[0] * (scales * scale[0])
        np.argpartition(products, -n)
        scanned.append(time.thread_time() - begun)
        text = "[" + ",".join(f"{one:.6f}" for one in question) + "]"
        begun = _spent_by(connection)
        rows = connection.execute(sql, (text,), prepare=False).fetchall()
        served.append(_spent_by(connection) - begun)
        exact = np.einsum("ij,j->i", vectors, question)
        found.append([top_share(exact, [num for (num,) in rows], most, 1e-3) for most in (10, n)])
    first, every = np.mean(found, axis=0)
    print(
        f"best {n}: scan {np.median(scanned) * 1000:.1f} ms, server {np.median(served) * 1000:.1f} ms; "
        f"of the true best 10 it has {first:.3f} among its first 10, of the best {n} {every:.3f}",
        flush=True,
    )


def _spent_by(connection: psycopg.Connection[Any]) -> float:
    told = Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text()
    return int(told.split()[0]) / 1e9


def _insert(connection: psycopg.Connection[Any], vectors: Scores, after: int) -> None:
    texts = ["[" + ",".join(f"{one:.5f}" for one in row) + "]" for row in vectors]
    for ns, told in ((NS, "with the index"), (UUID(int=2), "without")):
        begun = _spent_by(connection)
        connection.execute(
            """INSERT INTO v SELECT %s, 0, 4, %s + place, near::halfvec
               FROM unnest(%s::text[]) WITH ORDINALITY AS t (near, place)""",
            (ns, after, texts),
        )
        print(f"1,000 vectors more, {told}: {_spent_by(connection) - begun:.2f} s of the server", flush=True)


# --- a whole search that knows the nearest alone


def measure_search(turns: int) -> None:
    """Assume a perfect index: the loss comes from not knowing the scores of the rest."""
    settings = replace(load_settings(), admit=AdmitSettings(enabled=False))
    sessions = list(chatter(turns, 0))
    asked = questions(sessions, 2 * ASKED, 0)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory.db", "ana", settings=settings) as memory,
    ):
        for session, messages in sessions:
            memory.ingest_many(messages, session=session)
        memory.flush()
        scanned = [[hit.id for hit in memory.search(question)] for question in asked]
        scan, score = retrieve._scan, vars(retrieve)["score_words"]
        words: list[Scores] = []
        vars(retrieve)["score_words"] = _noting(score, words)
        ways = {
            f"the nearest {nearest}, {worded} by words, those around {around}": _knowing(
                scan, words, nearest, worded, around
            )
            for nearest, worded, around in ((200, 0, 0), (1000, 0, 0), (1000, 512, 256), (4000, 2000, 1000))
        }
        ways |= {f"signs of all, {most} of them in full": _by_signs(scan, most) for most in (1000, 4000)}
        for told, way in ways.items():
            vars(retrieve)["_scan"] = way
            found = [[hit.id for hit in memory.search(question)] for question in asked]
            pairs = [(one, other) for one, other in zip(scanned, found, strict=True) if one]
            share = np.mean([len(set(one) & set(other)) / len(one) for one, other in pairs])
            firsts = np.mean([one[0] == other[0] for one, other in pairs if other])
            print(f"{told}: {share:.3f} of the scan's ten, the same first in {firsts:.3f}", flush=True)


def _noting(score: Callable[..., Any], words: list[Scores]) -> Callable[..., Any]:
    def noting(*given: Any, **more: Any) -> Any:
        worded = score(*given, **more)
        words[:] = [worded.scores]
        return worded

    return noting


def _knowing(
    scan: Callable[..., None], words: Sequence[Scores], nearest: int, worded: int, around: int
) -> Callable[..., None]:
    def knowing(question: Scores, pieces: Iterable[tuple[Segment, Scores]], alone: bool) -> None:
        listed = list(pieces)
        scan(question, listed, alone)
        told = listed[0][1].base
        assert isinstance(told, np.ndarray)
        best = np.argsort(told)
        known = np.zeros(len(told), np.bool_)
        known[best[-nearest:]] = True
        if worded:
            known[np.argsort(words[0])[-worded:]] = True
        for step in (-2, -1, 1, 2) if around else ():
            known[np.clip(best[-around:] + step, 0, len(told) - 1)] = True
        # The rest is as an even sample is, so that the mean and the spread are right.
        sample = np.minimum(told[:: max(1, len(told) // 1024)], told[best[-nearest]])
        told[~known] = np.resize(np.random.default_rng(1).permutation(sample), int((~known).sum()))

    return knowing


def _by_signs(scan: Callable[..., None], most: int) -> Callable[..., None]:
    """Rank by one bit per dimension, then score the best exactly."""

    def by_signs(question: Scores, pieces: Iterable[tuple[Segment, Scores]], alone: bool) -> None:
        listed = list(pieces)
        scan(question, listed, alone)
        told = listed[0][1].base
        assert isinstance(told, np.ndarray)
        rough = np.zeros(len(told), np.float32)
        usual = sum(segment.total for segment, _ in listed) / sum(len(segment.scales) for segment, _ in listed)
        for segment, _ in listed:  # one shelf: numbers are positions
            signs = np.packbits(segment.codes * segment.scales[:, None] > usual, axis=1)
            asked = np.packbits(question[None] > 0, axis=1)
            apart = simsimd.cdist(asked, signs, "hamming", dtype="bin8")
            rough[segment.nums] = -np.asarray(apart)[0]
        sample = slice(None, None, max(1, len(told) // 1024))
        best = np.argsort(rough)[-most:]
        known = told[best]
        told[:] = (rough - rough[sample].mean()) / rough[sample].std() * told[sample].std() + told[sample].mean()
        told[best] = known

    return by_signs


if __name__ == "__main__":
    what, count = sys.argv[1:]
    {"server": measure_server, "search": measure_search}[what](int(count))
