"""Tells when rule files change, with the extra `watch` (watchfiles)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path

from holdfast.errors import InputError, MissingExtra
from holdfast.settings import AuthoredSettings

__all__ = ["watch"]


def watch(
    paths: Iterable[str | os.PathLike[str]],
    on_change: Callable[[list[Path]], None],
    stop: threading.Event,
    *,
    settings: AuthoredSettings | None = None,
) -> None:
    """Calls `on_change` with the files of `paths` that were written, replaced, made or deleted, until `stop` is set.

    It blocks: give it a thread of its own. What `on_change` raises ends it. `Rules.read` notices changes by itself, so
    a change in the moment before the watch begins is not lost; the watch is for who wants to know without asking.
    """
    named = [Path(os.path.abspath(os.path.expanduser(path))) for path in paths]
    while not stop.is_set():
        targets = _targets(named)
        for changed in _changes({*targets, *targets.values()}, stop, settings or AuthoredSettings()):
            if told := [path for path, target in targets.items() if path in changed or target in changed]:
                on_change(told)
            if _targets(named) != targets:  # a link points elsewhere now
                break


def _targets(named: Iterable[Path]) -> dict[Path, Path]:
    """Every file and, where it is a link, what it points at; else itself."""
    targets = {path: _target(path) for path in named}
    for path, target in targets.items():
        for place in (path.parent, target.parent):
            if not place.is_dir():
                raise InputError(f"cannot watch {str(path)!r}: there is no directory {str(place)!r}. Make it first.")
    return targets


def _target(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:  # the link was taken away between being seen and being read
        return path


def _changes(watched: Set[Path], stop: threading.Event, settings: AuthoredSettings) -> Iterator[Set[Path]]:
    """The places that changed, none when a while passed without a change, until `stop` is set."""
    try:
        from watchfiles import watch as changes_in
    except ImportError as error:
        raise MissingExtra("watching rule files", "watch") from error

    for changes in changes_in(
        *{place.parent for place in watched},  # a file that is replaced by renaming is another file afterwards
        watch_filter=lambda _, place: Path(place) in watched,
        stop_event=stop,
        debounce=settings.gather_ms * 10,
        step=settings.gather_ms,
        recursive=False,
        yield_on_timeout=True,
    ):
        yield {Path(place) for _, place in changes}
