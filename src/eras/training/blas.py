"""Products of matrices within compiled functions, each by the thread that asks for it.

They are done by the BLAS that PyTorch was built with. numba would call scipy's, which is slower on some processors, and
whose threads a whole process would have to do without.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from llvmlite import binding
from numba import types

from eras.compiled import numeric

Floats = npt.NDArray[np.float32]

_NAME = "eras_sgemm"
_N, _T = ord("N"), ord("T")
_sgemm: Any = types.ExternalFunction(_NAME, types.void(*[types.uintp] * 13))


def _introduce_blas() -> bool:
    """Let compiled functions know PyTorch's BLAS by `_NAME`; False where it cannot be found."""
    try:
        sgemm = ctypes.CDLL(torch._C.__file__).sgemm_  # it is in one of the libraries that this one loads
    except (OSError, AttributeError):
        return False
    binding.add_symbol(_NAME, ctypes.cast(sgemm, ctypes.c_void_p).value)
    return True


BLAS_FOUND = _introduce_blas()


@numeric
def multiply(x: Floats, turn_x: bool, y: Floats, turn_y: bool, out: Floats, add: bool) -> None:
    """x y in `out`, or added to it, of x and y as they are or turned (transposed).

    BLAS takes a matrix for its transpose, as columns come first there, so it is asked for yᵀ xᵀ; and it takes all
    arguments by address.
    """
    (n, m), k = out.shape, x.shape[0] if turn_x else x.shape[1]
    turned = np.array([_T if turn_y else _N, _T if turn_x else _N], np.uint8)
    sizes = np.array([m, n, k, max(1, y.shape[1]), max(1, x.shape[1]), max(1, m)], np.int32)
    scales = np.array([1.0, 1.0 if add else 0.0], np.float32)
    t, i, f = turned.ctypes.data, sizes.ctypes.data, scales.ctypes.data
    _sgemm(
        t, t + 1, i, i + 4, i + 8, f, y.ctypes.data, i + 12, x.ctypes.data, i + 16, f + 4, out.ctypes.data, i + 20
    )  # fmt: skip
