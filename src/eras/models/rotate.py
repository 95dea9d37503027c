"""RotatE (Sun et al., ICLR 2019): a relation turns each complex coordinate by an angle, score = −‖h ∘ r − t‖."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eras.graph.queries import TAIL
from eras.models.base import EmbeddingModel, Encoded, Metric
from eras.models.nearness import nearness


class RotatE(EmbeddingModel):
    """entities: real parts, then imaginary parts; relations: (rows, dim / 2), angles.

    Turning keeps lengths, so ‖h ∘ r − t‖ = ‖h − t ∘ r̄‖ and the question is a point in both directions. The norm is the
    Euclidean one, which is a product; the authors' code adds up the moduli instead.
    """

    multiple = 2

    @property
    def metric(self) -> Metric:
        return "distance"

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, dim // 2))

    def settle(self) -> None:
        self.relations.uniform_(-torch.pi, torch.pi)

    def encode_side(self, e: Tensor, relation: Tensor, side: int) -> Encoded:
        angle = self.relations[relation]
        cos, sin = angle.cos(), angle.sin() if side == TAIL else -angle.sin()
        real, imaginary = e.chunk(2, 1)
        return (torch.cat([real * cos - imaginary * sin, real * sin + imaginary * cos], 1),)

    def compare(self, encoded: Encoded, table: Tensor) -> Tensor:
        return nearness(encoded[0], table)
