"""The command line: `holdfast VERB`, each verb a thin layer over the Memory method of the same name."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code: 0 done, 1 no such id, 2 a mistake that is named on stderr, 130 Ctrl-C."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        from holdfast.cli.run import run

        return run(args)
    except KeyboardInterrupt:  # while the modules were being loaded
        return 130
