"""RESCAL (Nickel et al., ICML 2011): a full matrix for each relation, score = hᵀ M t."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from eras.graph.queries import TAIL
from eras.models.base import Product


class RESCAL(Product):
    """relations: (rows, dim, dim)."""

    def build(self, rows: int, dim: int) -> None:
        self.relations = nn.Parameter(torch.zeros(rows, dim, dim))

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        return by_relation(e, relation, self.relations, lambda x, m: x @ (m if side == TAIL else m.t()))


def by_relation(e: Tensor, relation: Tensor, table: Tensor, apply: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """`apply` to the rows of e (B, dim) that share a relation, with that relation's part of the table.

    No question needs a copy of its own, and all parts are taken out of the table at once, so that going back is one
    addition to it.
    """
    which, back = torch.unique(relation, return_inverse=True)
    order = back.argsort(stable=True)
    sizes = back.bincount(minlength=len(which)).tolist()
    parts = [apply(x, own) for x, own in zip(torch.split(e[order], sizes), table[which].unbind(), strict=True)]
    return torch.cat(parts)[order.argsort(stable=True)]
