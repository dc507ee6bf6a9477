"""A stop ends in time: a thread of Python that computes cannot be ended, but the process can."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

from holdfast.settings import ServeSettings

__all__ = ["Stopping", "end_in_time"]

Stopping = Callable[[], None]
"""Told by a server, in whatever thread, when it begins to stop."""

_TOLD = "holdfast: a call did not come to its end in time and was left undone; what was acknowledged is kept\n"


def end_in_time(settings: ServeSettings, close: Callable[[], None]) -> Stopping:
    """For a process that is nothing but a server: once it stops, it has `stop_s` to come to its end by itself.

    Calls get `finish_s` of that; then `close` lets go of the stores under those that are left. Whatever was
    acknowledged is on disk, and the next process finds the store as after a crash, which is to say whole.
    """

    def end() -> None:
        time.sleep(settings.finish_s)
        closing = threading.Thread(target=close, name="holdfast-closing", daemon=True)
        closing.start()
        time.sleep(settings.stop_s - settings.finish_s)
        _tell()
        os._exit(0)  # a stop that was asked for is no failure

    # A daemon: it must not keep a process that ends by itself.
    return partial(_once, threading.Thread(target=end, name="holdfast-stopping", daemon=True))


def _once(ending: threading.Thread) -> None:
    if ending.ident is None:
        ending.start()


def _tell() -> None:
    """Past the logging module, whose locks a thread that hangs may hold."""
    try:
        os.write(2, _TOLD.encode())
        sys.stdout.flush()
    except (OSError, ValueError):  # whoever read them has left
        return
