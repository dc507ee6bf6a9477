"""Whether all is well, and what the server was set to. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from urllib.parse import urlsplit, urlunsplit

from starlette.responses import Response

from holdfast.admit.secrets import mask
from holdfast.serve.inspector.asked import Asked
from holdfast.serve.inspector.desk import Desk
from holdfast.settings import Settings

__all__ = ["health", "settings"]

_SECRET = ("key", "token", "secret", "password")
_RUNS = ("check", "doctor")


def health(desk: Desk, asked: Asked) -> Response:
    run = asked.chosen("run", _RUNS)
    with desk.memory(asked) as memory:
        status = memory.status()
        faults = memory.check() if run == "check" else None
        too_many = status.records > desk.settings.doctor_records
        diagnosis = memory.doctor(fix=False) if run == "doctor" and not too_many else None
        with memory.view as view:
            lines, models = view.line_counts(), view.models()
    return desk.page(
        "health.html", asked, status=status, place=_shown("", status.store), faults=faults, diagnosis=diagnosis,
        lines=lines, models=models, too_many=too_many,
    )  # fmt: skip


def settings(desk: Desk, asked: Asked) -> Response:
    known, usual = desk.memories.settings, Settings()
    sections = [
        (field.name, list(_rows(getattr(known, field.name), getattr(usual, field.name))))
        for field in fields(Settings)
        if is_dataclass(getattr(known, field.name))
    ]
    loose = [(name, _shown(name, value), False) for name, value in (("namespace", known.namespace),)]
    return desk.page("settings.html", asked, sections=[("general", loose), *sections], bound=desk.memories.bound)


def _rows(known: object, usual: object) -> Iterator[tuple[str, str, bool]]:
    """(name, value, whether it was changed)"""
    assert is_dataclass(known)
    for field in fields(known):
        value = getattr(known, field.name)
        yield field.name, _shown(field.name, value), value != getattr(usual, field.name)


def _shown(name: str, value: object) -> str:
    """A value without what must not be read over a shoulder: passwords in addresses, keys, what looks like one."""
    if isinstance(value, str) and value and any(name.endswith(word) for word in _SECRET):
        return "set, and not shown"
    if not isinstance(value, str):
        return str(value)
    return mask(_without_password(value)).text


def _without_password(value: str) -> str:
    if "@" not in value or "://" not in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:  # no address after all
        return value
    return urlunsplit(parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}"))
