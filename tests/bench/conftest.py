"""Fixtures of the command line."""

from tests.cli.conftest import holdfast, store

__all__ = ["holdfast", "store"]
