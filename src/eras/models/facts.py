"""A triple as a fact, not as the answer to a question.

With reciprocal relations the questions (h, r, ?) and (?, r, t) have embeddings of their own and score a triple
differently. A fact has one score: the mean of the two. For a block structure, which is linear in the relation, that is
the score under the mean of the two relation embeddings, so it still is one product, and a sum of block terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.errors import DivergedError
from eras.graph.queries import HEAD, TAIL
from eras.models.base import Ints, KnowledgeModel
from eras.models.bilinear import BlockBilinear
from eras.scoring.query import contract

AT_A_TIME = 8192


class Term(NamedTuple):
    """sign·⟨h_head, r_relation, t_tail⟩ and its value; blocks are counted from 0."""

    head: int
    relation: int
    tail: int
    sign: int
    value: float

    def __str__(self) -> str:
        return f"{'+' if self.sign > 0 else '−'}⟨h{self.head + 1}, r{self.relation + 1}, t{self.tail + 1}⟩"


def fact_scores(model: KnowledgeModel, triples: Ints) -> npt.NDArray[np.float32]:
    """(n,) for triples (n, 3)."""
    parts = [triples[start : start + AT_A_TIME] for start in range(0, len(triples), AT_A_TIME)]
    means = [(model.score(part, TAIL) + model.score(part, HEAD)) / 2 for part in parts]
    found: npt.NDArray[np.float32] = torch.cat(means).cpu().numpy() if means else np.empty(0, np.float32)
    if not np.isfinite(found).all():
        raise DivergedError("the model's scores are not finite: it cannot be used (was it trained with too high a lr?)")
    return found


def mean_relation(model: BlockBilinear, relation: int) -> Tensor:
    """(dim,): the embedding under which a fact is scored."""
    number = np.array([relation])
    rows = [int(model.relation_rows(number, np.array([side]))[0]) for side in (TAIL, HEAD)]
    return model.relations[rows].mean(0)


def fact_queries(model: BlockBilinear, entities: Tensor, relation: int) -> Tensor:
    """(n, dim): the vectors q with fact score = q · t, for rows of an entity table as heads."""
    plan = model.plans[model.groups[relation]]
    return contract(entities, mean_relation(model, relation).expand_as(entities), plan.to_tail, plan.blocks)


def fact_terms(model: BlockBilinear, head: int, relation: int, tail: int) -> list[Term]:
    """The block terms that add up to the fact's score."""
    structure = model.function.structures[model.groups[relation]]
    h, r, t = (
        vector.double().chunk(structure.blocks)
        for vector in (model.entities[head], mean_relation(model, relation), model.entities[tail])
    )
    return [Term(i, k, j, s, s * float((h[i] * r[k] * t[j]).sum())) for i, j, k, s in structure.terms]
