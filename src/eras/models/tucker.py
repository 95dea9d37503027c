"""TuckER (Balažević et al., EMNLP 2019): one core tensor for all relations, score = W ×₁ r ×₂ h ×₃ t."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import dropout

from eras.graph.queries import TAIL
from eras.models.base import Options, Product
from eras.models.rescal import by_relation


class TuckEROptions(Options):
    relation_dim: int | None = Field(None, ge=1, description="Numbers per relation; as many as per entity.")
    input_dropout: float = Field(0.3, ge=0, lt=1, description="Dropout of the question's entity.")
    core_dropout: float = Field(0.4, ge=0, lt=1, description="Dropout of the relation's matrix W ×₁ r.")
    output_dropout: float = Field(0.5, ge=0, lt=1, description="Dropout of the question.")
    norm: bool = Field(True, description="Batch norm of the entity and of the question.")


class TuckER(Product):
    """relations: (rows, d_r); core: (d_r, dim, dim).

    The matrix W ×₁ r is made once for all questions of a step about r, so they share what dropout leaves of it.
    """

    Options = TuckEROptions

    def build(self, rows: int, dim: int) -> None:
        width = self.options.relation_dim or dim
        self.relations = nn.Parameter(torch.zeros(rows, width))
        self.core = nn.Parameter(torch.zeros(width, dim, dim))
        self.norms = nn.ModuleList(nn.BatchNorm1d(dim) if self.options.norm else nn.Identity() for _ in range(2))

    def settle(self) -> None:
        self.core.uniform_(-1, 1)

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        o, core = self.options, self.core if side == TAIL else self.core.transpose(1, 2)
        x = dropout(self.norms[0](e), o.input_dropout, self.training)
        which, row = torch.unique(relation, return_inverse=True)
        matrices = torch.einsum("rk,kij->rij", self.relations[which], core)
        matrices = dropout(matrices, o.core_dropout, self.training)
        q = by_relation(x, row, matrices, lambda part, matrix: part @ matrix)
        return dropout(self.norms[1](q), o.output_dropout, self.training)
