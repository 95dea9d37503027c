"""Models as points in a space: a question is one vector, an entity is another, and the score is how they compare.

Only such models can be put into an index of vectors.
"""

from __future__ import annotations

import torch
from torch import Tensor

from eras.models.base import EmbeddingModel, Ints, KnowledgeModel, Metric
from eras.models.bilinear import BlockBilinear


def metric_of(model: KnowledgeModel) -> Metric | None:
    """None where a question is no single vector, or is compared in another way than by product or distance."""
    if isinstance(model, BlockBilinear):
        return "product"
    return model.metric if isinstance(model, EmbeddingModel) else None


def entity_points(model: KnowledgeModel) -> Tensor:
    """(n_entities, width)."""
    return model.candidates().detach() if isinstance(model, EmbeddingModel) else model.tables["entities"]


@torch.no_grad()
def question_points(model: KnowledgeModel, entity: Ints, relation: Ints, side: Ints) -> Tensor:
    """(B, width), for a model that has a metric."""
    if isinstance(model, EmbeddingModel):
        return model.encode(entity, relation, side)[0]
    assert isinstance(model, BlockBilinear)
    return model.queries(entity, relation, side)
