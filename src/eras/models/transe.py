"""TransE (Bordes et al., NeurIPS 2013): a relation is a translation, score = −‖h + r − t‖."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from eras.graph.queries import TAIL
from eras.models.base import EmbeddingModel, Encoded, Metric, Options
from eras.models.nearness import nearness


class TransEOptions(Options):
    norm: int = Field(1, ge=1, le=2, description="1: sum of absolute differences; 2: Euclidean, one product.")


class TransE(EmbeddingModel):
    """relations: (rows, dim). The question is the point where the answer should be: h + r, or t − r."""

    Options = TransEOptions

    @property
    def metric(self) -> Metric | None:
        return "distance" if self.options.norm == 2 else None

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, dim))

    def encode_side(self, e: Tensor, relation: Tensor, side: int) -> Encoded:
        r = self.relations[relation]
        return (e + r if side == TAIL else e - r,)

    def compare(self, encoded: Encoded, table: Tensor) -> Tensor:
        (q,) = encoded
        return nearness(q, table) if self.options.norm == 2 else -torch.cdist(table, q, p=1)
