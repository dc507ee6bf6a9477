"""`python -m holdfast.cli`, for a checkout whose entry point is not installed."""

from __future__ import annotations

import sys

from holdfast.cli import main

if __name__ == "__main__":
    sys.exit(main())
