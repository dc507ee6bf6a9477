"""Weights of Holdfast's ask models. Nothing is loaded here: holdfast.models.ask reads the files when a question comes.

FILES pins the sha256 of each file. It is part of the fingerprint of stored vectors: other weights mean that a memory
embeds its turns again, in the background.
"""

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent
FILES: Mapping[str, str] = {
    # Written by training/ask/export.py: "ask.onnx" is the encoder. The reranker ("rerank.onnx") is not released.
    "ask.onnx": "b0965e43d34855a4789f4c9e9ecc71f6fe48327f3cfaf7ab397e9db773c9d9fc",
}
