"""Products of matrices by the faster of the two libraries that PyTorch brings.

`torch.mm` calls the BLAS that PyTorch was built with: on x86 that is MKL, which is at its best on Intel processors.
oneDNN, in the same package and on the same threads, makes its kernels for the processor at hand. Which of the two
multiplies depends on shapes alone, so a run that is resumed takes the same way.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SMALL, _NARROW, _SHORT = 1 << 25, 64, 128
"""Products of fewer multiplications, or of fewer columns, or of shorter rows, are no faster by oneDNN."""


def product(x: Tensor, w: Tensor, room: Tensor | None = None, *, recurring: bool = True) -> Tensor:
    """x wᵀ, (n, m), of x (n, k) and w (m, k); no gradient flows through it.

    It is in `room`, if that is given, or else in memory of its own, as what oneDNN makes always is.
    `recurring`: products of these shapes come again. oneDNN makes a kernel for each, which takes about a millisecond.
    """
    n, m, k = len(x), *w.shape
    large = n * m * k >= _SMALL and m >= _NARROW and k >= _SHORT
    if not (large and recurring and _ONEDNN is not None and x.device.type == "cpu" and x.dtype == torch.float32):
        return torch.mm(x, w.t(), out=room)
    found: Tensor = _ONEDNN(x, w, None, "none", [], "")
    return found


def product_into(out: Tensor, x: Tensor, w: Tensor, *, recurring: bool = True) -> Tensor:
    """x wᵀ, in `out`."""
    found = product(x, w, out, recurring=recurring)
    return out if found is out else out.copy_(found)


_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
"""What PyTorch's compiler calls for a linear layer. It has no public name, and not every build of PyTorch has it."""
