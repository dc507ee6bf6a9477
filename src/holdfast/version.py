"""The version, in one place that costs nothing to import."""

__all__ = ["__version__"]

__version__ = "0.1.0"
