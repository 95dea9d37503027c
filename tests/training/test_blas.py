from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eras.training.blas import BLAS_FOUND, multiply

sizes = st.integers(0, 40)
flags = st.booleans()


@settings(max_examples=60, deadline=None)
@given(
    n=sizes, k=sizes, m=sizes, turn_x=st.booleans(), turn_y=st.booleans(), add=st.booleans(), seed=st.integers(0, 99)
)
def test_products_of_any_shape(n: int, k: int, m: int, turn_x: bool, turn_y: bool, add: bool, seed: int) -> None:
    """Those of no rows are empty, and those of no columns are zero."""
    assert BLAS_FOUND
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((n, k), (k, m)))
    out = np.full((n, m), 3.0 if add else np.nan, np.float32)
    multiply(
        np.ascontiguousarray(x.T) if turn_x else x, turn_x, np.ascontiguousarray(y.T) if turn_y else y, turn_y, out, add
    )
    np.testing.assert_allclose(out, x.astype(np.float64) @ y + 3.0 * add, rtol=1e-4, atol=1e-4)
