"""NTN (Socher et al., NeurIPS 2013): a small network for each relation, score = uᵀ tanh(hᵀ W t + V [h; t] + b)."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from eras.graph.queries import TAIL
from eras.models.base import EmbeddingModel, Encoded, Options
from eras.models.rescal import by_relation


class NTNOptions(Options):
    slices: int = Field(4, ge=1, le=64, description="k: hidden units of a relation, each with a matrix.")


class NTN(EmbeddingModel):
    """relations: (rows, k, dim, dim), the tensors W; linear: (rows, k, 2, dim), V; outer: (rows, k, 2), b and u.

    A question is k points and k constants: hidden unit i of candidate e is tanh(q_i · e + c_i). The units are compared
    one after the other, so that scores take the same room with any k.
    """

    Options = NTNOptions

    def build(self, rows: int, dim: int) -> None:
        k = self.options.slices
        self.relations = nn.Parameter(torch.zeros(rows, k, dim, dim))
        self.linear = nn.Parameter(torch.zeros(rows, k, 2, dim))
        self.outer = nn.Parameter(torch.zeros(rows, k, 2))

    def settle(self) -> None:
        self.outer[..., 0] = 0.0
        self.outer[..., 1] = 1.0

    def encode_side(self, e: Tensor, relation: Tensor, side: int) -> Encoded:
        sum_over = "bi,kij->bkj" if side == TAIL else "bj,kij->bki"
        points = by_relation(e, relation, self.relations, lambda x, w: torch.einsum(sum_over, x, w))
        own, other = self.linear[relation].unbind(2)[:: 1 if side == TAIL else -1]
        bias, weight = self.outer[relation].unbind(2)
        return points + other, (own * e[:, None]).sum(2) + bias, weight

    def compare(self, encoded: Encoded, table: Tensor) -> Tensor:
        units = zip(*(part.unbind(1) for part in encoded), strict=True)
        total = torch.zeros(())
        for q, constant, weight in units:
            total = total + weight * torch.tanh(table @ q.t() + constant)
        return total
