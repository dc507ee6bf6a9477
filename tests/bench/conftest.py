"""The command line of the benches, in this process."""

from tests.cli.conftest import holdfast, store

__all__ = ["holdfast", "store"]
