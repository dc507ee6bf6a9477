"""Token counters: an estimate that is a little too high, and exact counters."""

from __future__ import annotations

import json
import math
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from holdfast.errors import InputError, MissingExtra
from holdfast.models.tokens import OpenAICounter, TokenCounter, TokenEstimator, open_counter
from holdfast.settings import TokenSettings, load_settings
from tests.support.frame_attacks import ATTACKS
from tests.support.hostile_texts import HOSTILE
from tests.support.pace import slowness
from tests.support.scripts import WORDS_IN_SCRIPTS

ROOT = Path(__file__).parents[2]
ESTIMATE = TokenEstimator()
O200K = OpenAICounter("o200k")


def month() -> list[str]:
    """Return the texts of the demo month."""
    lines = files("holdfast.demo").joinpath("month.jsonl").read_text(encoding="utf-8").splitlines()
    return [str(json.loads(line)["content"]) for line in lines]


@pytest.mark.requirement("CTX-9")
def test_english_chat_is_counted_within_a_tenth_and_rather_too_high() -> None:
    texts = month()
    estimated, exact = (sum(map(counter.count, texts)) for counter in (ESTIMATE, O200K))
    assert exact <= estimated <= 1.1 * exact
    too_low = [text for text in texts if ESTIMATE.count(text) < 0.9 * O200K.count(text)]
    assert len(too_low) <= 0.03 * len(texts)


@pytest.mark.requirement("CTX-9")
@pytest.mark.parametrize(
    "path", ["docs/design/architecture.md", "src/holdfast/model.py", "contract/bench-gate.schema.json"]
)
def test_documents_code_and_json_are_counted_within_a_fifth(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert 0.97 * O200K.count(text) <= ESTIMATE.count(text) <= 1.2 * O200K.count(text)


@pytest.mark.requirement("CTX-9")
def test_other_scripts_are_counted_within_a_third_in_total() -> None:
    texts = [text for _, text, _, _ in WORDS_IN_SCRIPTS]
    estimated, exact = (sum(map(counter.count, texts)) for counter in (ESTIMATE, O200K))
    assert 0.95 * exact <= estimated <= 1.3 * exact
    far = [text for text in texts if not 0.6 <= ESTIMATE.count(text) / O200K.count(text) <= 1.8]
    assert far == []


@pytest.mark.requirement("CTX-9")
def test_a_hostile_text_is_not_underestimated() -> None:
    for _, text in [*HOSTILE, *ATTACKS]:
        text = text.encode("utf-8", "replace").decode("utf-8")
        assert ESTIMATE.count(text) >= 0.4 * O200K.count(text), text[:80]


@pytest.mark.requirement("CTX-9")
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_text_has_at_most_the_tokens_of_its_lines(lines: list[str]) -> None:
    lines = [f"| {line}\n" for line in lines]
    assert ESTIMATE.count("".join(lines)) <= sum(map(ESTIMATE.count, lines))
    assert ESTIMATE.count("".join(lines)) == TokenEstimator().count("".join(lines))


@pytest.mark.requirement("CTX-9")
@pytest.mark.parametrize(
    "sample", ["\n".join(month()), "渡轮每天早上七点半从北码头出发。" * 90, "x(y)[0] += '-->' #\n" * 300]
)
def test_four_kilobytes_are_counted_in_a_millisecond(sample: str) -> None:
    text = sample.encode()[:4096].decode("utf-8", "ignore")
    assert min(seconds(text) for _ in range(5)) <= 0.001 * slowness()


@pytest.mark.requirement("CTX-9", "SAFE-4")
@pytest.mark.parametrize("piece", [" ", "\n", " \n", "a", "é", "a'", "\x01", "(", "港", "\u200b", "9", "aB"])
def test_counting_takes_linear_time(piece: str) -> None:
    short, long = (piece * (size // len(piece)) for size in (15_000, 300_000))
    assert seconds(long) <= 60 * min(seconds(short) for _ in range(3)) + 0.2 * slowness()


def seconds(text: str) -> float:
    started = time.process_time()
    ESTIMATE.count(text)
    return time.process_time() - started


@pytest.mark.parametrize("counter", [ESTIMATE, O200K], ids=lambda counter: counter.name)
def test_only_the_empty_text_has_no_tokens(counter: TokenCounter) -> None:
    assert counter.count("") == 0
    assert 1 <= counter.count(".") <= 2
    assert counter.count("<|endoftext|>") > 1  # special tokens in stored text are plain text


def test_settings_choose_the_counter() -> None:
    assert open_counter(TokenSettings()).name == "estimate"
    assert open_counter(TokenSettings("cl100k")).count("the tide is in") == 4
    chosen = load_settings({"HOLDFAST_TOKENS__COUNTER": "o200k", "HOLDFAST_TOKENS__FACTOR": "1.25"}).tokens
    assert open_counter(chosen).name == "o200k×1.25"
    assert open_counter(chosen).count("the tide is in") == math.ceil(4 * 1.25)


def test_a_tokenizer_file_counts_for_its_model(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"tide": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(2)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert open_counter(TokenSettings(f"tokenizer:{tmp_path / 'tokenizer.json'}")).count("the tide is in") == 4


@pytest.mark.parametrize("spec", ["tiktoken", "tokenizer:", "tokenizer:/nowhere/tokenizer.json", "O200K"])
def test_an_unknown_counter_is_refused_by_name(spec: str) -> None:
    with pytest.raises(InputError, match=spec.split(":")[-1] or "tokenizer"):
        open_counter(TokenSettings(spec))


def test_a_factor_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match=r"tokens\.factor"):
        TokenSettings(factor=0)


@pytest.mark.parametrize(("package", "spec"), [("splintr", "o200k"), ("tokenizers", "tokenizer:x.json")])
def test_without_the_extra_the_error_says_what_to_install(
    package: str, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'holdfast\[tokens\]'"):
        open_counter(TokenSettings(spec))
