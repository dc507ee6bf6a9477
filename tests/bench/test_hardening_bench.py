"""The hardening benchmark on small sizes: every bar is measured, and what does not depend on size is met."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_bench.hardening import HardeningSizes, run

SMALL = HardeningSizes(
    stored=100, waiting=300, starts=1, tool_bytes=50_000, contexts=5, turn_bytes=100_000, idle_starts=1,
    busy_starts=1, session=3_000, histories=3,
)  # fmt: skip


DATA = Path(__file__).parents[1] / "data"


@pytest.mark.slow
@pytest.mark.requirement("TRUST-4", "TRUST-5")
def test_every_bar_of_hardening_is_measured(tmp_path: Path) -> None:
    for name, most in (("secrets.jsonl", 6), ("not_secrets.jsonl", 20)):
        lines = (DATA / name).read_text(encoding="utf-8").splitlines()
        (tmp_path / name).write_text("\n".join(lines[:most]), encoding="utf-8")
    found = {bar.name: bar for bar in run(SMALL, tmp_path, tmp_path)}
    assert len(found) == 9
    assert all(bar.value >= 0 and bar.note for bar in found.values())
    assert found["secrets in clear"].met and found["false alarms"].met
    assert found["two new turns in a session of 3,000"].value > 0
