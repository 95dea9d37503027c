"""Products of matrices by the faster of the two libraries that PyTorch brings.

`torch.mm` calls the BLAS that PyTorch was built with: on x86 that is MKL, which is at its best on Intel processors.
oneDNN, in the same package and on the same threads, makes its kernels for the processor at hand. Which of the two
multiplies depends on the machine and on shapes, so a run that is resumed takes the same way.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from eras.models.cache import rows_in_cache

_SMALL = 1 << 22
"""Products of fewer multiplications are no faster by oneDNN, which makes a kernel for each shape that it meets."""


def product(x: Tensor, w: Tensor, out: Tensor, *, add: bool = False) -> Tensor:
    """x w, of x (n, k) and w (k, m), in `out` (n, m) or added to it; no gradient flows through it.

    `out` may have more bits than x and w.
    """
    if out.dtype != x.dtype:
        return _widened(x, w, out, add)
    large = x.shape[0] * x.shape[1] * w.shape[1] >= _SMALL
    if large and x.device.type == "cpu" and x.dtype == torch.float32 and onednn_is_exact():
        return _by_onednn(x, w, out, add)
    return _multiply(x, w, out, add)


def _multiply(x: Tensor, w: Tensor, out: Tensor, add: bool) -> Tensor:
    return out.addmm_(x, w) if add else torch.mm(x, w, out=out)


def _widened(x: Tensor, w: Tensor, out: Tensor, add: bool) -> Tensor:
    for rows in rows_in_cache(out):
        write = out[rows].add_ if add else out[rows].copy_
        write(torch.mm(x[rows], w))
    return out


def _by_onednn(x: Tensor, w: Tensor, out: Tensor, add: bool) -> Tensor:
    """PyTorch hands 32-bit products to oneDNN only where it is told that fewer bits would do."""
    with _LOCK:
        before = _SETTING.fp32_precision
        _SETTING.fp32_precision = "bf16"
        try:
            return _multiply(x, w, out, add)
        finally:
            _SETTING.fp32_precision = before


@cache
def onednn_is_exact() -> bool:
    """Whether oneDNN multiplies all 32 bits even so: a processor with matrix units (AMX) may take 16."""
    if _SETTING is None:
        return False
    n, almost_one = 256, 1 + 2.0**-12  # 16 bits make 1 of it
    x, out = torch.full((n, n), almost_one), torch.empty(n, n)
    return bool((_by_onednn(x, torch.ones(n, n), out, add=False) == n * almost_one).all())


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for products of bfloat16; without them they are slower than others."""
    features: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(present for name, present in features.items() if name.endswith("bf16"))


_LOCK = Lock()
"""Two threads at a time could leave each other's setting behind."""

_SETTING: Any = getattr(torch.backends.mkldnn, "matmul", None)
"""How exact 32-bit products by oneDNN must be; older versions of PyTorch have no such setting."""
