"""One training step: from a batch of queries to gradients of both tables."""

from __future__ import annotations

import torch
from torch import Tensor

from eras.models import BlockBilinear
from eras.scoring.query import query, query_backward
from eras.training.batches import Asked, Batch, Candidates
from eras.training.config import TrainConfig
from eras.training.optimiser import Gradient
from eras.training.products import by_products, softmax
from eras.training.regularisers import Factors, penalty
from eras.training.relation_prediction import relation_loss
from eras.training.workspace import Workspace


def loss_and_gradients(
    model: BlockBilinear,
    batch: Batch,
    config: TrainConfig,
    workspace: Workspace,
    generator: torch.Generator | None = None,
    candidates: Candidates | None = None,
) -> tuple[Tensor, Tensor, dict[str, Gradient]]:
    """(log-loss with relation prediction, penalty), both means over the batch's answers, and gradients of their sum.

    `generator` draws the dropout mask; it is needed only where dropout is on. With `candidates`, which hold the answers
    and then the entities of the questions as wanted, only these are compared, each for as many as it stands for, and
    the gradient of the entities is that of their rows.
    """
    h, r = workspace.rows("h", model.entities, batch.entity), workspace.rows("r", model.relations, batch.relation)
    q = query(h, r, batch.segments, workspace.like("q", h))
    mask = None
    if config.dropout:
        keep = torch.rand(q.shape, generator=generator).to(q.device) >= config.dropout
        mask = keep / (1.0 - config.dropout)
    masked = q if mask is None else q * mask
    table, rows, log_weight = model.entities, None, None
    answer, entity = batch.answer_entity, batch.entity
    if candidates is not None:
        rows, log_weight = candidates.entity, candidates.log_weight
        table = workspace.rows("candidates", model.entities, rows)
        answer, entity = candidates.position[: batch.n_answers], candidates.position[batch.n_answers :]
    asked = Asked(batch.answer_row, answer, batch.counts, log_weight)
    loss, dq, d_table = by_products(softmax, masked, table, asked, workspace)
    if mask is not None:
        dq *= mask

    d_relations = torch.zeros_like(model.relations)
    extra = torch.zeros_like(loss)
    if config.reg_weight and config.regulariser != "none":
        rows_of = entity, answer, batch.relation
        factors = Factors(table, model.relations, *rows_of, h, r, q, d_table, d_relations, dq)
        extra = penalty(config.regulariser, config.reg_weight, factors, batch)
    if config.relation_weight:
        predicted, dh, dt, d_predicted = relation_loss(
            model, h[batch.answer_row], table[answer], batch, config.relation_weight, config.memory_mb
        )
        loss = loss + predicted
        d_table.index_add_(0, entity[batch.answer_row], dh)
        d_table.index_add_(0, answer, dt)
        d_relations.add_(d_predicted)

    dh, dr = query_backward(h, r, dq, batch.segments, (workspace.like("dh", h), workspace.like("dr", r)))
    d_table.index_add_(0, entity, dh)
    d_relations.index_add_(0, batch.relation, dr)
    return loss, extra, {"entities": Gradient(d_table, rows), "relations": Gradient(d_relations)}
