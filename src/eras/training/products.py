"""Losses over products of questions and candidates, and their gradients, at the cost of three matrix products.

Scores are kept entity-major, Sᵀ = E Qᵀ: the layout in which all three products (Sᵀ, dQ = G E, dE = Gᵀ Q) run fast, and
the one that can be cut by entity rows: a few rows at a time are scored, and made into slopes, while they are in cache.
What a column of slopes is multiplied with as a whole goes to the small factors of the last two products.

Scores and the factors of products may be bfloat16 (see `Workspace.factor`); losses, sums and gradients are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from eras.models.cache import column_sums, rows_in_cache
from eras.models.multiply import product
from eras.training.batches import Asked
from eras.training.workspace import Workspace

LOG2_E = math.log2(math.e)
SAFE = 2.0**90
"""Sums of exponentials between 1 / SAFE and SAFE leave room for their products with counts and weights."""


class Slopes(NamedTuple):
    """What a loss makes of a block of scores, which it overwrites: slope (n, B) = weight · block.

    loss: the sum over the answers of the block's questions; weight: (B,).
    """

    loss: Tensor
    weight: Tensor


Loss = Callable[[Tensor, Tensor, Asked, Tensor, Workspace], Slopes]
"""From candidates (n, dim), questions (B, dim), what they ask for, room for scores (n, B), and room for more."""


def by_products(
    loss: Loss, q: Tensor, entities: Tensor, asked: Asked, workspace: Workspace
) -> tuple[Tensor, Tensor, Tensor]:
    """The mean loss over all answers and its gradients dq (B, dim) and dE (n, dim), which are the workspace's.

    `entities` holds the candidates, (n, dim).
    """
    dq, d_entities = workspace.like("dq", q), workspace.like("gradient", entities)
    total, at_once = q.new_zeros(()), workspace.queries_at_once(len(entities))
    n_answers, factor = len(asked.row), workspace.factor("entities", entities)
    for start in range(0, len(q), at_once):
        stop = min(start + at_once, len(q))
        qs, scores = q[start:stop], workspace.room("scores", len(entities), stop - start, factor)
        slopes = loss(factor, qs, asked.part(start, stop), scores, workspace)
        total += slopes.loss
        weight = (slopes.weight / n_answers).unsqueeze(1)
        weighted = torch.mul(qs, weight, out=workspace.like("weighted queries", qs, factor))
        product(scores.t(), factor, dq[start:stop]).mul_(weight)
        product(scores, weighted, d_entities, add=start > 0)
    return total / n_answers, dq, d_entities


def softmax(entities: Tensor, q: Tensor, asked: Asked, scores: Tensor, workspace: Workspace) -> Slopes:
    """Log-loss of each answer among all candidates, c · logsumexp(E q) − Σ q · t over the c answers t of a question.

    The slope is weight · (exp − total / c at the answers), whose weight is c / total: no further pass is needed.
    """
    # Powers of two are a third faster than those of e, so the logarithm of e goes into the queries.
    scaled = torch.mul(q, LOG2_E, out=workspace.like("scaled queries", q, entities))
    powers = _exponentiate(entities, scaled, asked, scores, workspace)
    loss = (asked.counts * (powers.shift + powers.total.log())).sum() - powers.answers.sum()
    weight = asked.counts / powers.total
    at_answers = weight.reciprocal().neg_()[asked.row].to(scores.dtype)
    scores.index_put_((asked.answer, asked.row), at_answers, accumulate=True)
    return Slopes(loss, weight)


class Powers(NamedTuple):
    """answers: (T,), scores of the answers; shift, total: (B,), what was taken off each column, and its sum after."""

    answers: Tensor
    shift: Tensor
    total: Tensor


def _exponentiate(entities: Tensor, scaled: Tensor, asked: Asked, scores: Tensor, workspace: Workspace) -> Powers:
    """Write exp(E qᵀ + log_weight − shift) into `scores`; scaled: q · log₂ e.

    No maximum is subtracted first: floating-point numbers are as exact near 2⁹⁰ as near 1, and scores that are too
    large or too small for that (beyond about ±60) are noticed by their sums and done over, shifted.
    """
    weight = None if asked.log_weight is None else asked.log_weight * LOG2_E
    total = torch.zeros_like(asked.counts)
    for rows in rows_in_cache(scores):
        room = workspace.like("run of scores", scores[rows])  # a product is faster into memory that is in cache
        part = product(entities[rows], scaled.t(), room)
        if weight is not None:
            part += weight[rows]
        total += column_sums(torch.exp2(part, out=scores[rows]), total.dtype)
    answers = scores[asked.answer, asked.row].to(total.dtype)
    if float(total.max()) < SAFE and float(torch.cat([total, answers]).min()) > 1 / SAFE:
        return Powers(answers.log(), torch.zeros_like(total), total)

    product(entities, scaled.t(), scores)
    answers = scores[asked.answer, asked.row].to(total.dtype) / LOG2_E
    if weight is not None:
        scores += weight
    shift = scores.amax(0)
    total.zero_()
    for rows in rows_in_cache(scores):
        total += column_sums(scores[rows].sub_(shift).exp2_(), total.dtype)
    return Powers(answers, shift.to(total.dtype) / LOG2_E, total)


def binary(
    entities: Tensor, q: Tensor, asked: Asked, scores: Tensor, workspace: Workspace, smoothing: float = 0.0
) -> Slopes:
    """Log-loss of "is an answer" for every candidate on its own; labels smoothed towards 1/n (Dettmers et al. 2018).

    A label y costs softplus(score) − y · score and has the slope sigmoid(score) − y. Candidates that stand for more
    than themselves count as often.
    """
    loss, nothing, even = q.new_zeros(()), q.new_zeros(()), 1 / len(entities) if smoothing else 0.0
    for rows in rows_in_cache(scores):
        part = product(entities[rows], q.t(), scores[rows])
        cost = torch.logaddexp(part, nothing, out=workspace.like("costs", part))  # softplus
        if smoothing:
            cost.sub_(part, alpha=even)
        part.sigmoid_().sub_(even)
        if asked.log_weight is not None:
            weight = asked.log_weight[rows].exp()
            cost *= weight
            part *= weight
        loss += cost.sum()
    loss -= (1 - smoothing) * (q[asked.row] * entities[asked.answer]).sum()
    scores[asked.answer, asked.row] -= 1 - smoothing
    return Slopes(loss, torch.ones_like(asked.counts))
