"""One training step: from a batch of queries to gradients of both tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from eras.models import BlockBilinear
from eras.scoring.query import query, query_backward
from eras.training.batches import Batch, Candidates
from eras.training.config import TrainConfig
from eras.training.objective import ScoreBuffer, log_loss, relation_loss
from eras.training.regularisers import Factors, penalty


@dataclass(frozen=True, eq=False)
class Gradients:
    """entities, relations: the shapes of the model's tables. Overwritten in every step."""

    entities: Tensor
    relations: Tensor

    @classmethod
    def like(cls, model: BlockBilinear) -> Gradients:
        return cls(torch.zeros_like(model.entities), torch.zeros_like(model.relations))


def loss_and_gradients(
    model: BlockBilinear,
    batch: Batch,
    config: TrainConfig,
    buffer: ScoreBuffer,
    gradients: Gradients,
    generator: torch.Generator | None = None,
    candidates: Candidates | None = None,
) -> tuple[Tensor, Tensor]:
    """(log-loss with relation prediction, penalty), both means over the batch's answers; fills `gradients`.

    `generator` draws the dropout mask; it is needed only where dropout is on. With `candidates` only these entities are
    compared, each for as many as it stands for.
    """
    h, r = model.entities[batch.entity], model.relations[batch.relation]
    q = query(h, r, batch.segments)
    mask = None
    if config.dropout:
        keep = torch.rand(q.shape, generator=generator).to(q.device) >= config.dropout
        mask = keep / (1.0 - config.dropout)
    masked = q if mask is None else q * mask
    if candidates is None:
        loss, dq = log_loss(masked, model.entities, batch, buffer, gradients.entities)
    else:
        table = model.entities[candidates.entity]
        d_table, among = torch.empty_like(table), replace(batch, answer_entity=candidates.answer)
        loss, dq = log_loss(masked, table, among, buffer, d_table, candidates.log_weight)
        gradients.entities.zero_().index_copy_(0, candidates.entity, d_table)
    if mask is not None:
        dq *= mask

    gradients.relations.zero_()
    dh, dr = torch.zeros_like(h), torch.zeros_like(r)
    extra = torch.zeros_like(loss)
    if (config.reg_weight and config.regulariser != "none") or config.relation_weight:
        t = model.entities[batch.answer_entity]
        factors = Factors(h, r, q, t, dh, dr, dq, torch.zeros_like(t))
        extra = penalty(config.regulariser, config.reg_weight, factors, batch)
        if config.relation_weight:
            weight = config.relation_weight
            predicted, dh_t, dt, d_relations = relation_loss(
                model, h[batch.answer_row], t, batch, weight, config.memory_mb
            )
            loss = loss + predicted
            dh.index_add_(0, batch.answer_row, dh_t)
            factors.dt.add_(dt)
            gradients.relations.add_(d_relations)
        gradients.entities.index_add_(0, batch.answer_entity, factors.dt)

    dh_q, dr_q = query_backward(h, r, dq, batch.segments)
    gradients.entities.index_add_(0, batch.entity, dh.add_(dh_q))
    gradients.relations.index_add_(0, batch.relation, dr.add_(dr_q))
    return loss, extra
