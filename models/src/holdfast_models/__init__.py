"""Weights of Holdfast's ask models. Nothing is loaded here: holdfast.models.ask reads the files when a question comes.

FILES pins the sha256 of each file. It is part of the fingerprint of stored vectors: other weights mean that a memory
embeds its turns again, in the background.
"""

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent
FILES: Mapping[str, str] = {
    # Written by training/ask/export.py: "ask.onnx.gz" is the encoder. The reranker is not released.
    "ask.onnx.gz": "1d053ef00e84fc78a9355616a4ced7e7a9b25d39689590abe1452f47e39e47a1",
}
