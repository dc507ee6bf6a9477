"""Where a server tells of what goes wrong."""

from __future__ import annotations

import logging

__all__ = ["log_to_stderr"]


def log_to_stderr() -> None:
    """With tracebacks, unlike other verbs: whoever looks after a server needs them, and no peer sees them."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("holdfast: %(message)s"))
    for name in ("holdfast", "uvicorn.error"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(handler)
            log.propagate = False
