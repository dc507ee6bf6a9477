"""Every text that SQLite keeps is kept here too: PostgreSQL's text cannot hold U+0000, so it is written as two letters.

The escape is one to one, so equality and unique keys mean the same. It is registered on every connection, and nobody
who writes a statement has to think of it.
"""

from __future__ import annotations

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.postgres import types
from psycopg.pq import Format
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

__all__ = ["register"]

_ESCAPE, _ESCAPED = "\ue000", "\ue000e"  # private use: nobody's text holds it by chance
_NUL, _NUL_ESCAPED = "\x00", "\ue0000"
_MARK = _ESCAPE.encode()


class _TextDumper(Dumper):
    oid = types["text"].oid

    def dump(self, obj: str) -> Buffer:
        if _ESCAPE in obj or _NUL in obj:
            obj = obj.replace(_ESCAPE, _ESCAPED).replace(_NUL, _NUL_ESCAPED)
        return obj.encode()


class _BinaryDumper(_TextDumper):
    format = Format.BINARY


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        raw = bytes(data)
        text = raw.decode()
        return text.replace(_NUL_ESCAPED, _NUL).replace(_ESCAPED, _ESCAPE) if _MARK in raw else text


class _BinaryLoader(_TextLoader):
    format = Format.BINARY


def register(connection: psycopg.Connection) -> None:
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(str, _BinaryDumper)
    adapters.register_loader("text", _TextLoader)
    adapters.register_loader("text", _BinaryLoader)
    adapters.register_dumper(list, ListBinaryDumper)
    # All numbers as bigint: else a statement is prepared once for every width of its values.
    adapters.register_dumper(int, Int8BinaryDumper)
