"""What the processor can do: products of matrices that never leave the caches of its cores, by all threads at once."""

from __future__ import annotations

import time

import numpy as np
from numba import prange

from eras.compiled import team, threaded, threads_of_pytorch
from eras.training.tiles import Floats, multiply

_SHAPE = 64, 256, 256
_TIMES = 50


class Tiles:
    """Products of tiles, (64, 256) and (256, 256). Called, it answers seconds for a billion operations."""

    def __init__(self) -> None:
        self._threads, (n, k, m) = threads_of_pytorch(), _SHAPE
        self._x, self._y, self._out = (
            np.ones((self._threads, *shape), np.float32) for shape in ((n, k), (k, m), (n, m))
        )
        self._operations = 2.0 * self._threads * n * k * m * _TIMES

    def __call__(self) -> float:
        began = time.perf_counter()
        with team(self._threads):
            _multiply(self._x, self._y, self._out)
        return (time.perf_counter() - began) / self._operations * 1e9


@threaded
def _multiply(x: Floats, y: Floats, out: Floats) -> None:
    for thread in prange(len(x)):
        for _ in range(_TIMES):
            multiply(x[thread], y[thread], out[thread], False)
