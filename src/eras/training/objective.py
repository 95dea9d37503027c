"""The multiclass log-loss over all entities, and its gradients, at the cost of three matrix products.

The loss of all triples that share the query q, with c answers T, is c·logsumexp(q Eᵀ) − Σ_{t∈T} q·t. Scores are kept
entity-major, Sᵀ = E Qᵀ: the layout in which all three products (Sᵀ, dQ = G E, dE = Gᵀ Q) run fast, and the one that
can be cut by entity rows, since only the maximum and the sum of a column cross rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear
from eras.scoring.query import contract
from eras.training.batches import Batch

_CACHE_BYTES = 1 << 20


class ScoreBuffer:
    """Room for a block of scores that is used again in every step, no larger than the memory budget."""

    def __init__(self, n_entities: int, batch_size: int, memory_mb: int, device: torch.device) -> None:
        fitting = (memory_mb << 20) // (4 * n_entities)
        self.queries = max(1, min(batch_size, fitting))
        self._room = torch.empty(n_entities * self.queries, device=device)

    def scores(self, candidates: int, n_queries: int) -> Tensor:
        """Uninitialised (candidates, n_queries)."""
        return self._room[: candidates * n_queries].view(candidates, n_queries)


def log_loss(
    q: Tensor,
    entities: Tensor,
    batch: Batch,
    buffer: ScoreBuffer,
    d_entities: Tensor,
    log_weight: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean loss over the batch's answers and its gradient dq (B, dim); overwrites `d_entities` with dE.

    `entities` holds the candidates, (n, dim), and `batch.answer_entity` counts in them. With `log_weight` (n, 1) each
    candidate stands for exp(log_weight) entities in the sum under the logarithm; an answer must stand for itself alone.
    """
    dq = torch.empty_like(q)
    loss = q.new_zeros(())
    for start in range(0, len(q), buffer.queries):
        stop = min(start + buffer.queries, len(q))
        first, last = torch.searchsorted(batch.answer_row, torch.tensor([start, stop], device=q.device)).tolist()
        row, answer = batch.answer_row[first:last] - start, batch.answer_entity[first:last]
        qs, counts = q[start:stop], batch.counts[start:stop]

        scores = torch.mm(entities, qs.t(), out=buffer.scores(len(entities), stop - start))
        loss -= scores[answer, row].sum()
        if log_weight is not None:
            scores += log_weight
        peak, total = _exponentiate(scores)
        loss += (counts * (peak + total.log())).sum()

        # The gradient with respect to the scores is weight · (exp − total / c at the answers): the weight goes to the
        # small factors of the products, so that the large one needs no further pass.
        scores[answer, row] -= (total / counts)[row]
        weight = (counts / (total * batch.n_answers)).unsqueeze(1)
        torch.mm(scores.t(), entities, out=dq[start:stop]).mul_(weight)
        torch.addmm(d_entities, scores, qs * weight, beta=1.0 if start else 0.0, out=d_entities)
    return loss / batch.n_answers, dq


def _exponentiate(scores: Tensor) -> tuple[Tensor, Tensor]:
    """exp(scores − peak) in place, in slices that stay in cache; returns each column's peak and its sum."""
    peak = scores.amax(0)
    total = torch.zeros_like(peak)
    rows = max(1, _CACHE_BYTES // (4 * scores.shape[1]))
    for start in range(0, len(scores), rows):
        total += scores[start : start + rows].sub_(peak).exp_().sum(0)
    return peak, total


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
            contract(ts, ds, plan.to_head, plan.blocks, dh[start:stop])
            contract(hs, ds, plan.to_tail, plan.blocks, dt[start:stop])
    return loss * (weight / batch.n_answers), dh, dt, d_relations


def _side_blocks(batch: Batch, rows: int) -> Iterator[tuple[int, int, int]]:
    """(side, start, stop) over the batch's answers, at most `rows` of one side at a time."""
    for side, first, last in ((TAIL, 0, batch.n_tail_answers), (HEAD, batch.n_tail_answers, batch.n_answers)):
        for start in range(first, last, rows):
            yield side, start, min(start + rows, last)
