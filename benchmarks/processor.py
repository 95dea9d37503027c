"""What the processor can do: products of matrices that never leave the caches of its cores, by all threads at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eras.errors import UsageError

_SHAPE = 64, 256, 256
_TIMES = 50


def tiles() -> tuple[Callable[[], None], float] | None:
    """What multiplies (64, 256) and (256, 256) a few times, and its operations; None without numba or the kernels."""
    try:
        from eras.compiled import team, threads_of_pytorch
        from eras.training.tiles import TILES_FOUND, multiply
    except UsageError:
        return None
    if not TILES_FOUND:
        return None
    import numba

    @numba.njit(parallel=True)  # not kept on disk, where a change of `multiply` would not be noticed
    def by_all(x: Any, y: Any, out: Any) -> None:
        for thread in numba.prange(len(x)):
            for _ in range(_TIMES):
                multiply(x[thread], y[thread], out[thread], False)

    threads, (n, k, m) = threads_of_pytorch(), _SHAPE
    arrays = [np.ones((threads, *shape), np.float32) for shape in ((n, k), (k, m), (n, m))]

    def once() -> None:
        with team(threads):
            by_all(*arrays)

    return once, 2.0 * threads * n * k * m * _TIMES
