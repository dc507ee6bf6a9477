"""The command line: `holdfast COMMAND`, each a thin layer over the Memory method of the same name."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 unknown id, 2 usage or other error, 130 Ctrl-C."""
    args = list(sys.argv[1:] if argv is None else argv)
    # Before numpy is loaded: its threads wait for each other in a loop. On two busy cores an import took 11 times as
    # long with two of them, and a hook .08 s longer.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if args[:1] == ["hook"]:  # started by a host with every turn: nothing else is loaded
        from holdfast.connect.hook import main as run_hook

        code = run_hook(args[1:])
        if argv is None:
            os._exit(code)  # everything is closed and flushed; taking the interpreter apart would take 30 ms
        return code
    try:
        from holdfast.cli.app import run

        return run(args)
    except KeyboardInterrupt:  # while the modules were being loaded
        return 130
