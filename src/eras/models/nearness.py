"""Euclidean distances as one product, ‖e − q‖² = ‖e‖² − 2 e·q + ‖q‖², and their gradients as two more.

Left to autograd, each of the few operations around the product would pass over the whole block of scores, and over
another one on the way back.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from eras.models.cache import rows_in_cache

_LEAST = 1e-9
"""What a squared distance is taken for at least: the root has no gradient at zero."""


def nearness(q: Tensor, table: Tensor) -> Tensor:
    """(n, B): −‖e − q‖ for the points of a table (n, width) and of B questions (B, width)."""
    found: Tensor = _Nearness.apply(q, table)  # type: ignore[no-untyped-call]  # torch has no types here
    return found


class _Nearness(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, table: Tensor) -> Tensor:
        scores, lengths = table.new_empty(len(table), len(q)), table.square().sum(1, keepdim=True)
        for rows in rows_in_cache(scores):
            part = torch.addmm(lengths[rows], table[rows], q.t(), alpha=-2, out=scores[rows])
            part.add_(q.square().sum(1)).clamp_(min=_LEAST).sqrt_().neg_()
        ctx.save_for_backward(q, table, scores)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient of −‖e − q‖ is (q − e) / −‖e − q‖ for q, and the opposite for e."""
        q, table, scores = ctx.saved_tensors
        pull = gradients[0] / scores
        return (
            pull.sum(0).unsqueeze(1) * q - pull.t() @ table,
            pull.sum(1, keepdim=True) * table - pull @ q,
        )
