"""Products of small matrices within compiled functions, each by the thread that asks for it.

They are done by oneDNN's block kernels (brgemm), which PyTorch brings: it makes one for the processor and for each
shape. As long as its factors are in the cache, such a kernel runs at the speed of the processor for any shape, where a
BLAS first copies them into another layout.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from llvmlite import binding
from numba import types

from eras.compiled import numeric

Floats = npt.NDArray[np.float32]

_NAME = "eras_multiply"
_OF_PYTORCH = "_ZN2at6native7cpublas6brgemmEllllllbPKfS3_Pfb"
"""`at::native::cpublas::brgemm` for 32 bits. The name says the types of all arguments: with others it is not found."""

_brgemm: Any = types.ExternalFunction(
    _NAME, types.void(*[types.int64] * 6, types.int32, *[types.uintp] * 3, types.int32)
)
_ROWS = 8
"""Rows and columns that are turned together: a line of the cache is read, or written, by halves."""


def _introduce() -> bool:
    """Let compiled functions know the kernels by `_NAME`; False where PyTorch has none, or not for this processor."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        kernel = getattr(ctypes.CDLL(torch._C.__file__), _OF_PYTORCH)  # it is in a library that this one loads
    except (OSError, AttributeError):
        return False
    binding.add_symbol(_NAME, ctypes.cast(kernel, ctypes.c_void_p).value)
    return True


TILES_FOUND = _introduce()


@numeric
def multiply(x: Floats, y: Floats, out: Floats, add: bool) -> None:
    """x y in `out`, or added to it; all three are contiguous."""
    (n, m), k = out.shape, x.shape[1]
    if n and m and k:
        _brgemm(n, m, k, k, m, m, np.int32(add), x.ctypes.data, y.ctypes.data, out.ctypes.data, np.int32(0))
    elif not add:
        out[:] = np.float32(0.0)


@numeric
def turn(x: Floats, of_x: int, out: Floats, of_out: int, n: int, m: int) -> None:
    """The transpose (m, n) of a matrix (n, m), both part of flat arrays in which a row is so long."""
    a, b = np.uint64(of_x), np.uint64(of_out)  # unsigned, as for signed indices a loop looks out for negative ones
    rows, columns = n - n % _ROWS, m - m % _ROWS
    for first in range(0, rows, _ROWS):
        for start in range(0, columns, _ROWS):
            i, j = np.uint64(first), np.uint64(start)
            for column in range(np.uint64(_ROWS)):
                for row in range(np.uint64(_ROWS)):
                    out[(j + column) * b + i + row] = x[(i + row) * a + j + column]
    for row in range(n):
        for column in range(columns if row < rows else 0, m):
            out[column * of_out + row] = x[row * of_x + column]
