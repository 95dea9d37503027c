from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eras.training.tiles import TILES_FOUND, multiply, turn

sizes = st.integers(0, 40) | st.integers(0, 300)
seeds = st.integers(0, 99)


@settings(max_examples=60, deadline=None)
@given(n=sizes, k=sizes, m=sizes, add=st.booleans(), seed=seeds)
def test_products_of_any_shape(n: int, k: int, m: int, add: bool, seed: int) -> None:
    """Those of no rows are empty, and those of no columns are zero. All 32 bits count."""
    assert TILES_FOUND
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((n, k), (k, m)))
    out = np.full((n, m), 3.0 if add else np.nan, np.float32)
    multiply(x, y, out, add)
    np.testing.assert_allclose(out, x.astype(np.float64) @ y + 3.0 * add, rtol=1e-5, atol=2e-5)


@settings(max_examples=60, deadline=None)
@given(n=sizes, m=sizes, before=st.integers(0, 9), after=st.integers(0, 9), seed=seeds)
def test_a_part_of_a_matrix_is_turned_into_a_part_of_another(
    n: int, m: int, before: int, after: int, seed: int
) -> None:
    """Nothing around it is written."""
    x = np.random.default_rng(seed).normal(size=(n, before + m + after)).astype(np.float32)
    out = np.full((m, after + n + before), -1.0, np.float32)
    turn(x.ravel()[before:], x.shape[1], out.ravel()[after:], out.shape[1], n, m)
    assert (out[:, after : after + n] == x[:, before : before + m].T).all()
    assert (out[:, :after] == -1).all()
    assert (out[:, after + n :] == -1).all()
