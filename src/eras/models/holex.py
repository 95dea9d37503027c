"""HolEX (Xue et al., NeurIPS 2018): several holographic features, each of a head vector masked in another way.

score = Σ_j r_j · ((c_j ∘ h) ⋆ t) with fixed vectors c_j; the first is all ones, so one feature is HolE.
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from eras.graph.queries import TAIL
from eras.models.base import Options, Product
from eras.models.hole import holographic


class HolEXOptions(Options):
    features: int = Field(4, ge=1, le=64, description="Number of holographic features.")


class HolEX(Product):
    """relations: (rows, features, dim); masks: (features, dim), random zeros and ones, kept with the model."""

    Options = HolEXOptions
    masks: Tensor

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, self.options.features, dim))
        self.register_buffer("masks", torch.ones(self.options.features, dim))

    def settle(self) -> None:
        self.masks[1:] = torch.randint(2, self.masks[1:].shape)

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        r = self.relations[relation]
        if side == TAIL:
            return holographic(self.masks * e[:, None], r, side).sum(1)
        return (self.masks * holographic(e[:, None], r, side)).sum(1)
