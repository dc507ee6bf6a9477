"""The secret of a store, from which the marks of frames are made."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.settings import StoreSettings
from holdfast.store.open import open_store


@pytest.mark.requirement("INV-2")
def test_the_secret_of_a_store_is_permanent_and_unique(tmp_path: Path) -> None:
    settings = StoreSettings(durable=False)
    secrets = []
    for name in ("a.db", "a.db", "b.db"):
        store = open_store(tmp_path / name, settings)
        secrets.append(store.secret())
        store.close()
    assert secrets[0] == secrets[1] != secrets[2]
    assert all(len(secret) == 32 for secret in secrets)
