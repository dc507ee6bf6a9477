"""Fit and measure the token estimator's costs (src/holdfast/models/estimate.json) against the exact o200k tokenizer.

Fitted on text that no benchmark uses: Django's translations (100 languages), Python's own library, and our labels for
English chat. Measured on held-out text: other translations, other packages, and any JSON, JSON-lines or text files.

    pip install 'holdfast[tokens]' ; pip download --no-deps django && unzip -d django Django-*.whl
    python training/tokens.py calibrate --django django --labels training/labels --out src/holdfast/models/estimate.json
    python training/tokens.py measure --django django --code FOLDER --files FILE... --blocks
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import numpy as np
import splintr

from holdfast.context.render import encode
from holdfast.context.render import ContextFrame, Item, render; from holdfast.results import Tier
from holdfast_bench.data import strings_in
from holdfast.models.tokens import BLOCKS, PIECES, TokenEstimator, block_of, common_words, prefix_of

_TOKENIZER = splintr.Tokenizer.from_pretrained("o200k_base")
MORE = ", more"
MARGIN = 1.02
"""The estimate is too high rather than too low: exceeding a budget costs more than not using it up."""
LONGEST = 16
"""Longer words and runs of signs cost proportionally to this length."""
CALIBRATED = ("conf/locale", "contrib/admin/locale")
HELD_OUT = ("contrib/auth/locale", "contrib/gis/locale", "contrib/postgres/locale", "contrib/admindocs/locale")


def exact(text: str) -> int:
    return len(_TOKENIZER.encode_ordinary(text))


def messages(po: Path) -> list[str]:
    """Return the translations of a .po file."""
    found, parts = [], None
    for line in [*po.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("msgstr"):
            parts = [line.partition('"')[2].rpartition('"')[0]]
        elif line.startswith('"') and parts is not None:
            parts.append(line[1:-1])
        else:
            text = "".join(parts or ()).replace("\\n", "\n").replace('\\"', '"')
            if text.strip() and "Content-Type" not in text:
                found.append(text)
            parts = None
    return found


def translations(django: Path, places: tuple[str, ...]) -> dict[str, list[str]]:
    """Return texts by language, each of twenty messages, because one message has only a few words."""
    texts = defaultdict(list)
    for place in places:
        for po in sorted((django / "django" / place).glob("*/LC_MESSAGES/*.po")):
            found = messages(po)
            texts[po.parent.parent.name] += ["\n".join(found[i : i + 20]) for i in range(0, len(found), 20)]
    return texts


def code(folder: Path, seed: int, most: int = 150) -> list[str]:
    paths = sorted(folder.glob("*.py")) or sorted(folder.rglob("*.py"))
    random.Random(seed).shuffle(paths)
    return [path.read_text(encoding="utf-8", errors="replace")[:4000] for path in paths[:most] if path.stat().st_size > 500]


def read_texts(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", errors="replace")
    name = path.name.removesuffix(".gz")
    if name.endswith(".json"):
        return list(strings_in(json.loads(text)))
    if name.endswith(".jsonl"):
        return list(strings_in([json.loads(line) for line in text.splitlines() if line]))
    return [text[i : i + 4000] for i in range(0, len(text), 4000)]


def calibrate(options: argparse.Namespace) -> None:
    words: dict[tuple[str, str], list[list[int]]] = defaultdict(lambda: [[] for _ in range(LONGEST)])
    runs: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    signs: list[list[int]] = [[] for _ in range(LONGEST)]
    languages = list(translations(options.django, CALIBRATED).values())
    labels = [read_texts(path) for path in sorted(options.labels.glob("*.jsonl"))]
    for texts in [*languages, *labels, code(Path(os.__file__).parent, seed=0)]:
        for text in texts:
            for piece in PIECES.findall(text):
                gather(piece, words, runs, signs)
    costs: dict[str, object] = {"tokenizer": "o200k_base", "margin": MARGIN, "blanks": 16}
    for kind in ("common", "uncommon", "capitals", "accented"):
        costs[kind] = {prefix: rising(words[kind, prefix]) for prefix in ("spaced", "signed", "bare")}
    costs["signs"] = rising(signs)
    costs["run"], costs["letter"] = {}, {"latin": 1.0}
    for block in sorted({name for _, name in BLOCKS} - {"latin"}):
        if block.endswith(MORE):
            continue
        seen = runs[block]
        run, letter, more = plane_through(seen) if len(seen) >= 100 else (0.0, alone(block), alone(block + MORE))
        costs["run"][block], costs["letter"][block] = round(run, 3), round(letter, 3)
        if any(name == block + MORE for _, name in BLOCKS):
            costs["run"][block + MORE], costs["letter"][block + MORE] = round(run, 3), round(more, 3)
    options.out.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {options.out}: {sum(map(len, languages))} translated texts, {sum(map(len, labels))} labels", file=sys.stderr)


def gather(piece, words, runs, signs) -> None:
    core, prefix = piece.strip(" "), prefix_of(piece)
    core = core[1:] if prefix == "signed" else core
    first = core[:1]
    if first < " " or first in "0123456789\x7f":
        return
    if first.isascii() and not first.isalpha():
        length = len(core.rstrip("\r\n"))
        if length <= LONGEST:
            signs[length - 1].append(exact(piece))
    elif first.isalpha() and block_of(first) == "latin":
        word = core.partition("'")[0]
        if len(word) <= LONGEST:
            kind = "common" if word.lower() in common_words() else "uncommon"
            kind = "capitals" if len(word) > 1 and word.isupper() and word.isascii() else kind
            words["accented" if not word.isascii() else kind, prefix][len(word) - 1].append(exact(piece))
    else:
        more = sum(block_of(letter).endswith(MORE) for letter in core)
        runs[block_of(first).removesuffix(MORE)].append((len(core) - more, more, exact(piece)))


def rising(samples: list[list[int]]) -> list[float]:
    """Return the mean of each length; a longer piece never costs less, and a rare length at least its neighbour."""
    table, last = [], 1.0
    for found in samples:
        if len(found) >= 30:
            last = max(last, statistics.fmean(found))
        table.append(round(last, 3))
    return table


def plane_through(samples: list[tuple[int, int, int]]) -> tuple[float, float, float]:
    """Fit tokens = run + letter · letters + more · rarer letters by least squares, without negative terms."""
    features = np.array([(1, letters, more) for letters, more, _ in samples], dtype=float)
    tokens = np.array([tokens for *_, tokens in samples], dtype=float)
    run, letter, more = np.linalg.lstsq(features, tokens, rcond=None)[0]
    if run < 0 or letter <= 0:
        run, letter, more = 0.0, tokens.sum() / features[:, 1:].sum(), 0.0
    return float(run), float(letter), float(max(more, letter))


def alone(block: str) -> float:
    """Return the average cost of single characters, for a group that is rare in the texts."""
    ends = [start for start, _ in BLOCKS[1:]] + [0x110000]
    places = [code for (start, name), end in zip(BLOCKS, ends) if name == block for code in range(start, end, 7)]
    characters = [chr(code) for code in places if chr(code).isprintable()]
    return statistics.fmean(exact(one) for one in characters) if characters else 3.0


def blocks(texts: list[str]) -> list[str]:
    """Render contexts of twenty texts, each cut to the length of a turn."""
    frame = ContextFrame.of(bytes(16), "measured")
    items = [Item(f"t-{place:021x}", text[:800], "user", "turn", datetime(2026, 5, 3)) for place, text in enumerate(texts)]
    return [render(frame, {Tier.RECALLED: items[i : i + 20]}) for i in range(0, len(items), 20)]


def measure(options: argparse.Namespace) -> None:
    counter = TokenEstimator()
    held_out = translations(options.django, HELD_OUT) if options.django else {}
    latin, others = [], []
    for texts in held_out.values():
        joined = "".join(texts)
        (latin if sum(block_of(c) == "latin" for c in joined) > len(joined) * 0.8 else others).extend(texts)
    rows = {"translations, Latin script": latin, "translations, other scripts": others}
    if options.code:
        rows["code"] = code(options.code, seed=1)
    for path in options.files:
        texts = [text for text in read_texts(path) if len(text) >= 20]
        rows[path.name] = texts
        if options.blocks:
            rows[path.name.partition(".")[0] + ", in blocks of 20"] = blocks(texts)
            shown = [encode(text) for text in texts]
            changed = sum(one != text for one, text in zip(shown, texts)) / len(texts)
            longer = sum(map(len, shown)) / sum(map(len, texts)) - 1
            print(f"{path.name}: escaping changes {changed:.1%} of the texts and makes them {longer:.2%} longer")
    print(f"{'':34} {'texts':>6} {'tokens':>8} {'bias':>7} {'p50 |e|':>8} {'p95 |e|':>8} {'under 5%':>9}")
    for name, texts in rows.items():
        pairs = [(counter.count(text), exact(text)) for text in texts[: options.most]]
        if not pairs:
            continue
        errors = sorted(abs(a - b) / b for a, b in pairs)
        bias = sum(a for a, _ in pairs) / sum(b for _, b in pairs) - 1
        under = sum(a < 0.95 * b for a, b in pairs) / len(pairs)
        print(
            f"{name[:34]:34} {len(pairs):6} {sum(b for _, b in pairs):8} {bias:+7.1%} {errors[len(errors) // 2]:8.1%} "
            f"{errors[int(len(errors) * 0.95)]:8.1%} {under:9.1%}"
        )
    if options.by_language:
        for language, texts in sorted(held_out.items()):
            if not texts:
                continue
            got, want = sum(map(counter.count, texts)), sum(map(exact, texts))
            print(f"{language:10} {want:6} {got / want - 1:+.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("calibrate")
    for name in ("--django", "--labels", "--out"):
        making.add_argument(name, type=Path, required=True)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("--django", type=Path)
    measuring.add_argument("--code", type=Path)
    measuring.add_argument("--files", type=Path, nargs="*", default=[])
    measuring.add_argument("--most", type=int, default=5000)
    measuring.add_argument("--blocks", action="store_true", help="measure rendered blocks of the texts too")
    measuring.add_argument("--by-language", action="store_true")
    options = parser.parse_args()
    (calibrate if options.verb == "calibrate" else measure)(options)


if __name__ == "__main__":
    main()
