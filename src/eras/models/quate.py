"""QuatE (Zhang et al., NeurIPS 2019): a relation is a rotation of quaternions, score = (h ⊗ r / |r|) · t."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eras.graph.queries import TAIL
from eras.models.base import Product


class QuatE(Product):
    """entities, relations: (rows, dim), the four parts of dim / 4 quaternions one after the other."""

    multiple = 4

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, dim))

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        r = self.relations[relation].view(len(relation), 4, -1)
        unit = r / r.square().sum(1, keepdim=True).clamp(min=1e-18).sqrt()
        a, b, c, d = unit.unbind(1)
        if side != TAIL:  # (h ⊗ r) · t = h · (t ⊗ r̄)
            b, c, d = -b, -c, -d
        w, x, y, z = e.chunk(4, 1)
        return torch.cat(
            [
                w * a - x * b - y * c - z * d,
                w * b + x * a + y * d - z * c,
                w * c - x * d + y * a + z * b,
                w * d + x * c - y * b + z * a,
            ],
            1,
        )
