"""Products in pieces are the products."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.models.embedder import dot_product, dot_products


@pytest.mark.parametrize("few", [0, 1, 2, 31, 32, 33, 127, 128])
@pytest.mark.parametrize("many", [0, 1, 1025, 3000])
def test_each_of_the_few_with_each_of_the_many(few: int, many: int) -> None:
    chance = np.random.default_rng(few * 10_000 + many)
    rows = chance.standard_normal((few, 256)).astype(np.float32)
    columns = chance.standard_normal((many, 256)).astype(np.float32)
    found = dot_products(rows, columns)
    assert found.shape == (few, many) and found.dtype == np.float32
    np.testing.assert_allclose(found, rows.astype(np.float64) @ columns.astype(np.float64).T, atol=1e-3)


def test_a_product_does_not_depend_on_how_many_there_are() -> None:
    """A rebuild, which meets other records at once, must find the same."""
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((500, 256)).astype(np.float32)
    whole = dot_product(vectors, vectors[3])
    for start, stop in ((0, 1), (3, 4), (17, 300), (499, 500)):
        np.testing.assert_array_equal(dot_product(vectors[start:stop], vectors[3]), whole[start:stop])
    assert dot_product(vectors[:0], vectors[3]).shape == (0,)
