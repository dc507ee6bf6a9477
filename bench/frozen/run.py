"""Run the frozen benches with ids fixed by a seed and compare their figures with those of version 0.1.

    python bench/frozen/run.py --data DIR --out DIR [NAME ...]

DIR holds the public sets (docs/evidence). Random ids change what fits into a context, so ids are counted here instead.
Figures differ if they are more than .001 apart, or .005 where a token budget decides (pack, life).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import holdfast.log.messages as messages
from holdfast.model import to_micros

BENCHES = {
    "locomo": ["locomo", "locomo_dev.json.gz"],
    "facts": ["facts", "fact_consolidation_dev.json.gz"],
    "halumem": ["halumem", "halumem_user0.json.gz", "halumem_user3.json.gz"],
    "beam": ["beam", "beam_100k_dev.json.gz"],
    "gate": ["gate", "locomo_dev.json.gz", "dailydialog_en_dev.txt.gz"],
    "merge": ["merge", "stsb-en-dev.csv.gz", "msr-para-val.tsv.gz", "SICK_trial.txt.gz"],
    "pack_locomo": ["pack", "locomo_dev.json.gz"],
    "pack_beam": ["pack", "beam_100k_dev.json.gz"],
    "pack_lme": ["pack", "longmemeval_oracle_dev.json.gz", "--limit=40"],
    "lme_pool": ["longmemeval", "longmemeval_oracle_dev.json.gz", "--mode=pool", "--no-records"],
    "lme_global": ["longmemeval", "longmemeval_oracle_dev.json.gz", "--mode=global", "--no-records"],
    "compact": ["compact", "locomo_dev.json.gz", "dailydialog_en_dev.txt.gz", "--turns=2000"],
    "hostile": ["hostile", "bipia_text_attack_train.json.gz", "bipia_code_attack_train.json.gz", "blns.json.gz"],
    "life4": ["lives", "lives/life4.json"],
}
TIMES = ("seconds", "ms", "machine", "version", "p50", "p99", "per_s", "mb", "live_s")


def fix_ids() -> None:
    counts: defaultdict[str, int] = defaultdict(int)

    def new_id(prefix: str, at: datetime) -> str:
        counts[prefix] += 1
        digest = hashlib.blake2b(f"{prefix}{counts[prefix]}".encode(), digest_size=5).hexdigest()
        return f"{prefix}-{max(to_micros(at) // 1000, 0) & ((1 << 44) - 1):011x}{digest}"

    messages.new_id = new_id


def numbers(tree: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the figures of a bench, without times and lists of examples."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if not any(word in str(name) for word in TIMES):
                yield from numbers(value, f"{path}.{name}")
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield path, float(tree)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="*", default=list(BENCHES))
    given = parser.parse_args()
    fix_ids()
    from holdfast.cli import main as holdfast

    frozen = json.loads((Path(__file__).parent / "0.1.json").read_text(encoding="utf-8"))
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        bench, *rest = BENCHES[name]
        data = [part for one in rest if not one.startswith("--") for part in ("--data", str(given.data / one))]
        sys.argv = ["holdfast", "bench", bench, *data, *(one for one in rest if one.startswith("--"))]
        sys.argv += ["--json", str(given.out / f"{name}.json")]
        try:
            holdfast()
        except SystemExit as end:
            if end.code:
                raise
        made = dict(numbers(json.loads((given.out / f"{name}.json").read_text(encoding="utf-8"))))
        least = 0.005 if name.startswith(("pack", "life")) else 0.001
        for path, was in frozen.get(name, {}).items():
            if abs(made.get(path, float("nan")) - was) > least:
                print(f"{name}{path}: {was} -> {made[path]}")


if __name__ == "__main__":
    main()
