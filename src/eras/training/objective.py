"""The multiclass log-loss over all entities, and its gradients, at the cost of three matrix products.

The loss of all triples that share the query q, with c answers T, is c·logsumexp(q Eᵀ) − Σ_{t∈T} q·t. Scores are kept
entity-major, Sᵀ = E Qᵀ: the layout in which all three products (Sᵀ, dQ = G E, dE = Gᵀ Q) run fast, and the one that
can be cut by entity rows, since only the sum of a column crosses rows: a few rows at a time are scored and
exponentiated while they are in cache.

No maximum is subtracted first: floating-point numbers are as exact near 2⁹⁰ as near 1, and scores that are too large
or too small for that (beyond about ±60) are noticed by their sums and done over, shifted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear
from eras.models.cache import rows_in_cache
from eras.scoring.query import contract
from eras.training.batches import Asked, Batch
from eras.training.workspace import Workspace

_LOG2_E = math.log2(math.e)
_SAFE = 2.0**90
"""Sums of exponentials between 1 / _SAFE and _SAFE leave room for their products with counts and weights."""


def log_loss(q: Tensor, entities: Tensor, asked: Asked, workspace: Workspace) -> tuple[Tensor, Tensor, Tensor]:
    """The mean loss over all answers and its gradients dq (B, dim) and dE (n, dim), which are the workspace's.

    `entities` holds the candidates, (n, dim); each counts in the sum under the logarithm for what it stands for.
    """
    dq, d_entities = workspace.like("dq", q), workspace.like("gradient", entities)
    loss, at_once = q.new_zeros(()), workspace.queries_at_once(len(entities))
    n_answers = len(asked.row)
    for start in range(0, len(q), at_once):
        stop = min(start + at_once, len(q))
        these, qs = asked.part(start, stop), q[start:stop]
        row, answer, counts = these.row, these.answer, these.counts
        scores = workspace.room("scores", len(entities), stop - start, q)
        scaled = workspace.like("scaled queries", qs)
        # Powers of two are a third faster than those of e, so the logarithm of e goes into the queries.
        powers = _exponentiate(entities, torch.mul(qs, _LOG2_E, out=scaled).t(), these, scores)
        total = powers.total
        loss += (counts * (powers.shift + total.log())).sum() - powers.answers.sum()

        # The gradient with respect to the scores is weight · (exp − total / c at the answers): the weight goes to the
        # small factors of the products, so that the large one needs no further pass.
        scores[answer, row] -= (total / counts)[row]
        weight = (counts / (total * n_answers)).unsqueeze(1)
        torch.mm(scores.t(), entities, out=dq[start:stop]).mul_(weight)
        torch.mul(qs, weight, out=scaled)
        torch.addmm(d_entities, scores, scaled, beta=1.0 if start else 0.0, out=d_entities)
    return loss / n_answers, dq, d_entities


class Powers(NamedTuple):
    """answers: (T,), scores of the answers; shift, total: (B,), what was taken off each column, and its sum after."""

    answers: Tensor
    shift: Tensor
    total: Tensor


def _exponentiate(entities: Tensor, scaled: Tensor, asked: Asked, scores: Tensor) -> Powers:
    """Write exp(E qᵀ + log_weight − shift) into `scores`, with a shift where one is needed; scaled: qᵀ · log₂ e."""
    weight = None if asked.log_weight is None else asked.log_weight * _LOG2_E
    total = scaled.new_zeros(scaled.shape[1])
    for rows in rows_in_cache(scores):
        part = torch.mm(entities[rows], scaled, out=scores[rows])
        if weight is not None:
            part += weight[rows]
        total += part.exp2_().sum(0)
    answers = scores[asked.answer, asked.row]
    if float(total.max()) < _SAFE and float(torch.cat([total, answers]).min()) > 1 / _SAFE:
        return Powers(answers.log(), torch.zeros_like(total), total)

    torch.mm(entities, scaled, out=scores)
    answers = scores[asked.answer, asked.row] / _LOG2_E
    if weight is not None:
        scores += weight
    shift = scores.amax(0)
    total.zero_()
    for rows in rows_in_cache(scores):
        total += scores[rows].sub_(shift).exp2_().sum(0)
    return Powers(answers, shift / _LOG2_E, total)


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
