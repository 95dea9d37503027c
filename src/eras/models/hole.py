"""HolE (Nickel et al., AAAI 2016): score = r · (h ⋆ t), with circular correlation (h ⋆ t)_k = Σ_i h_i t_{i+k}."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.fft import irfft, rfft

from eras.graph.queries import TAIL
from eras.models.base import Product


class HolE(Product):
    """relations: (rows, dim). As a question, r · (h ⋆ t) = (r ∗ h) · t = (r ⋆ t) · h: Fourier transforms either way."""

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, dim))

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        return holographic(e, self.relations[relation], side)


def holographic(e: Tensor, r: Tensor, side: int) -> Tensor:
    """Circular convolution r ∗ e for the tail question, circular correlation r ⋆ e for the head question."""
    spectrum = rfft(r) if side == TAIL else rfft(r).conj()
    product: Tensor = irfft(spectrum * rfft(e), n=e.shape[-1])
    return product
