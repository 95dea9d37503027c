"""TransH (Wang et al., AAAI 2014): a translation within a hyperplane of the relation's own.

score = −‖h⊥ + d − t⊥‖² with x⊥ = x − (w·x) w and ‖w‖ = 1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from eras.graph.queries import TAIL
from eras.models.base import EmbeddingModel, Encoded


class TransH(EmbeddingModel):
    """relations: (rows, 2, dim), the normal w (of any length) and the translation d.

    No projected candidate is ever formed: with u = h⊥ + d, or t⊥ − d, ‖u − e⊥‖² = ‖u‖² − 2 u⊥·e + ‖e‖² − (w·e)², two
    products of the plain table.
    """

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, 2, dim))

    def encode_side(self, e: Tensor, relation: Tensor, side: int) -> Encoded:
        normal, d = self.relations[relation].unbind(1)
        w = normalize(normal, dim=1)
        u = _within(e, w) + (d if side == TAIL else -d)
        return u.square().sum(1), _within(u, w), w

    def compare(self, encoded: Encoded, table: Tensor) -> Tensor:
        length, u, w = encoded
        along = table @ w.t()
        return -(length - 2 * (table @ u.t()) + table.square().sum(1, keepdim=True) - along * along)


def _within(x: Tensor, w: Tensor) -> Tensor:
    return x - (x * w).sum(1, keepdim=True) * w
