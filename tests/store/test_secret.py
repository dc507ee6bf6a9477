"""The store's secret: what the marks of frames are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.settings import StoreSettings
from holdfast.store.open import open_store


@pytest.mark.requirement("INV-2")
def test_a_store_has_one_secret_that_stays_and_no_other_store_has(tmp_path: Path) -> None:
    settings = StoreSettings(durable=False)
    secrets = []
    for name in ("a.db", "a.db", "b.db"):
        store = open_store(tmp_path / name, settings)
        secrets.append(store.secret())
        store.close()
    assert secrets[0] == secrets[1] != secrets[2]
    assert all(len(secret) == 32 for secret in secrets)
