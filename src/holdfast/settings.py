"""Every default, in one place, each with where it comes from."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import InputError

__all__ = [
    "EmbedderSettings",
    "IndexSettings",
    "LogSettings",
    "RecallSettings",
    "Settings",
    "StoreSettings",
    "load_settings",
]


@dataclass(frozen=True, slots=True)
class LogSettings:
    max_text_bytes: int = 64 * 1024 * 1024
    """A larger turn is refused. Far above the 10 MB that SAFE-4 asks for, far below SQLite's 1 GB row."""
    max_name_bytes: int = 1024
    """Namespaces, sessions and keys are part of every index entry, so they are kept short."""
    stability_user: float = 0.5  # LOG-2
    stability_assistant: float = 0.25  # LOG-2
    stability_other: float = 0.2  # LOG-2
    batch: int = 500
    """Turns a transaction of ingest_many: an interrupt loses at most this much progress, never a turn."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    durable: bool = True
    """False turns off fsync: for tests and throw-away stores only. A power cut may then lose acknowledged turns."""
    busy_s: float = 30.0
    """How long a writer waits for the others. 8 writers waited .44 s at worst behind an flock (DESIGN)."""
    cache_mb: int = 64
    """Vector codes and document tables kept in memory, all namespaces together; 100k turns need about 30."""


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    profile: str = "static"
    """static | onnx:PATH | remote:URL#MODEL | none"""
    timeout_s: float = 10.0
    batch: int = 256


@dataclass(frozen=True, slots=True)
class IndexSettings:
    tail: int = 128
    """Turns that may wait outside the word index: search scans them as they are, at about 20 µs each."""
    tail_chars: int = 200_000
    """… unless they hold this many characters together: one long paste is indexed at once."""
    vector_tail: int = 256
    """Vectors that may wait outside a quantised segment."""
    batch: int = 2000
    """Turns a transaction of derived work."""
    max_chars: int = 1_000_000
    """Words beyond this are kept and shown, but not indexed: a 10 MB paste must not cost minutes."""


@dataclass(frozen=True, slots=True)
class RecallSettings:
    k1: float = 1.2  # BM25, the textbook values
    b: float = 0.75
    dense_weight: float = 0.5
    """Share of the semantic leg in the standardised mix (DESIGN, "What lifts retrieval")."""
    user_preference: float = 1.0
    """Standard deviations by which the user's own words are preferred to an assistant's or a tool's: the largest
    single gain on assistant chats (DESIGN: .8 to 1.2)."""
    rescore: int = 64
    """Nearest int8 codes that are scored again in full precision; 30 lost nothing on any model tried (DESIGN)."""
    question_chars: int = 8000
    """A question is read up to here: what follows is a document, not a question."""
    question_terms: int = 64
    """Distinct words of a question that are looked up."""
    most: int = 1000
    """The largest limit of a search, recent or thread page."""


@dataclass(frozen=True, slots=True)
class Settings:
    namespace: str | None = None
    """The default namespace, if the operator named one (LOG-6)."""
    log: LogSettings = field(default_factory=LogSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The defaults, changed by the TOML file HOLDFAST_CONFIG names and then by variables (HOLDFAST_RECALL__B=.6)."""
    data: dict[str, object] = {}
    if path := environ.get("HOLDFAST_CONFIG"):
        try:
            data = tomllib.loads(Path(path).read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"cannot read the settings file {path} (HOLDFAST_CONFIG): {error}") from error
    for name, value in environ.items():
        section, _, setting = name.removeprefix("HOLDFAST_").lower().partition("__")
        if name.startswith("HOLDFAST_") and setting:
            part = data.setdefault(section, {})
            if isinstance(part, dict):
                part[setting] = value
    if namespace := environ.get("HOLDFAST_NAMESPACE"):
        data["namespace"] = namespace
    if not data.keys() - {"namespace"} and not environ.get(
        "HOLDFAST_CONFIG"
    ):  # the common case, without loading the validator
        return Settings(namespace=environ.get("HOLDFAST_NAMESPACE") or None)
    return _validated(data)


def _validated(data: dict[str, object]) -> Settings:
    from pydantic import TypeAdapter, ValidationError

    for section, values in data.items():
        known = Settings.__dataclass_fields__
        if section not in known:
            raise InputError(f"there is no setting {section!r}; there are {', '.join(known)}")
        if isinstance(values, dict):
            fields = type(getattr(Settings(), section)).__dataclass_fields__
            for name in values:
                if name not in fields:
                    raise InputError(f"there is no setting {section}.{name}; there are {', '.join(fields)}")
    try:
        return TypeAdapter(Settings).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the setting {where} cannot be {first['input']!r}: {first['msg']}") from error
