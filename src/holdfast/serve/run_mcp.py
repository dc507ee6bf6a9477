"""`holdfast mcp`: MCP on stdio, from the first message to the last answer."""

from __future__ import annotations

import os
import signal
import sys
import threading

from holdfast.errors import MissingExtra
from holdfast.serve.memories import Memories
from holdfast.serve.stopping import Stopping
from holdfast.serve.weekly import Weekly

__all__ = ["run_mcp"]


def run_mcp(memories: Memories, rules: tuple[str, ...] = (), stopping: Stopping = lambda: None) -> None:
    """Serve the process that started this one until it ends stdin or a signal comes; requests that were read are
    answered before it returns.
    """
    try:
        import mcp  # noqa: F401  # an extra
    except ImportError as error:
        raise MissingExtra("the MCP server", "serve") from error
    import anyio

    from holdfast.serve.mcp.pipes import Pipes
    from holdfast.serve.mcp.server import mcp_server

    settings = memories.settings.serve
    pipes = Pipes(*_own_stdio(), settings)
    ended = threading.Event()
    failed: list[BaseException] = []

    def serve() -> None:
        try:
            anyio.run(pipes.serve, mcp_server(memories, rules))
        except BaseException as error:  # told in the main thread, which decides how the process ends
            failed.append(error)
        finally:
            ended.set()

    before = {name: signal.signal(name, lambda *_: ended.set()) for name in (signal.SIGTERM, signal.SIGINT)}
    # A daemon, and so are the threads it starts: one that waits for stdin must not keep the process.
    serving = threading.Thread(target=serve, name="holdfast-mcp", daemon=True)
    serving.start()
    try:
        with Weekly(memories):
            ended.wait()
            stopping()
            pipes.stop()
            serving.join(settings.stop_s)  # a peer that reads nothing takes all of it
    finally:
        for name, known in before.items():
            signal.signal(name, known)
    if failed:
        raise failed[0]


def _own_stdio() -> tuple[int, int]:
    """Duplicates of stdin and stdout for messages alone: whatever else prints goes to stderr, whatever reads finds an
    end.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target
