"""Which relation links a head and a tail? A second loss beside that of entities (Chen et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear
from eras.scoring.query import contract
from eras.training.batches import Batch


def relation_loss(
    model: BlockBilinear, h: Tensor, t: Tensor, batch: Batch, weight: float, memory_mb: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """weight · the mean log-loss of each answer's relation among all relations, given head and tail.

    h, t: (T, dim), one row for each answer. Returns the loss and its gradients with respect to h, t and the relation
    table. A relation of another group is scored by that group's structure.
    """
    loss = h.new_zeros(())
    dh, dt, d_relations = torch.zeros_like(h), torch.zeros_like(t), torch.zeros_like(model.relations)
    true_row = batch.relation[batch.answer_row]
    members = [torch.from_numpy(np.flatnonzero(model.groups == g)).to(h.device) for g in range(model.n_groups)]
    fitting = max(1, (memory_mb << 20) // (4 * model.n_relations))
    for side, start, stop in _side_blocks(batch, fitting):
        offset = side * model.n_relations if model.reciprocal else 0
        table = model.relations[offset : offset + model.n_relations]
        d_table = d_relations[offset : offset + model.n_relations]
        hs, ts, true = h[start:stop], t[start:stop], true_row[start:stop] - offset
        plans = model.plans[side * model.n_groups : (side + 1) * model.n_groups]

        queries = [contract(hs, ts, plan.to_relation, plan.blocks) for plan in plans]
        scores = h.new_empty(stop - start, model.n_relations)
        for s, ids in zip(queries, members, strict=True):
            scores[:, ids] = s @ table[ids].t()
        log_p = scores.log_softmax(1)
        loss -= log_p.gather(1, true.unsqueeze(1)).sum()
        gradient = log_p.exp_()
        gradient[torch.arange(len(true), device=h.device), true] -= 1.0
        gradient *= weight / batch.n_answers

        for plan, s, ids in zip(plans, queries, members, strict=True):
            ds = gradient[:, ids] @ table[ids]
            d_table.index_add_(0, ids, gradient[:, ids].t() @ s)
            dh[start:stop] += contract(ts, ds, plan.to_head, plan.blocks)
            dt[start:stop] += contract(hs, ds, plan.to_tail, plan.blocks)
    return loss * (weight / batch.n_answers), dh, dt, d_relations


def _side_blocks(batch: Batch, rows: int) -> Iterator[tuple[int, int, int]]:
    """(side, start, stop) over the batch's answers, at most `rows` of one side at a time."""
    for side, first, last in ((TAIL, 0, batch.n_tail_answers), (HEAD, batch.n_tail_answers, batch.n_answers)):
        for start in range(first, last, rows):
            yield side, start, min(start + rows, last)
