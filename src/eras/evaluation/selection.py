"""The measure by which training and searches choose: MRR on validation, with regard to the facts that nobody knows.

What chooses must not see test facts, so it cannot filter by them: on dense graphs many wrong-looking answers that stand
above a validation fact are test facts, and plain MRR favours whoever ranks those low. Here a query is taken to miss as
many answers as facts of its kind are set aside for validation: K of them, Poisson, in proportion to the answers that it
is known to have. They are taken to stand above the answer, so its reciprocal rank is the mean of 1 / max(1, rank − K).
Where queries have few answers this is plain MRR.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.evaluation.ranking import Ranker, rank
from eras.graph import TrainingView
from eras.graph.model import Triples
from eras.graph.queries import Ints, Queries

Floats = npt.NDArray[np.float64]

DEVIATIONS = 6.0
"""How far around its mean the number of missing answers is followed: all but a billionth of it."""


class Selection:
    """Judges models by validation triples (V, 3), filtered by the facts that training may see."""

    def __init__(self, train: Triples, valid: Triples, n_entities: int, n_relations: int, memory_mb: int) -> None:
        facts = np.concatenate([train, valid])
        self.asked = Queries.of(valid, n_entities, n_relations)
        self.known = Queries.of(facts, n_entities, n_relations)
        self.share = len(valid) / max(1, len(facts))
        self.memory_mb = memory_mb

    @classmethod
    def of(cls, view: TrainingView, memory_mb: int) -> Selection:
        return cls(view.train, view.valid, len(view.entities), len(view.relations), memory_mb)

    def mrr(self, model: Ranker) -> float:
        _, reciprocal_ranks = self.by_answer(model)
        return float(reciprocal_ranks.mean())

    def by_answer(self, model: Ranker) -> tuple[Ints, Floats]:
        """For both sides of every validation triple its relation and its expected reciprocal rank."""
        table = rank(model, self.asked, self.known, memory_mb=self.memory_mb)
        ranks = (table["low"] + table["high"]).to_numpy() / 2
        answers = self.known.n_entities + 1 - table["candidates"].to_numpy()
        return table["relation"].to_numpy(), expected_reciprocal_ranks(ranks, self.share * answers)


def expected_reciprocal_ranks(ranks: Floats, missing: Floats) -> Floats:
    """The mean of 1 / max(1, rank − K) for K ~ Poisson(missing), for each rank."""
    rank, mean = torch.from_numpy(ranks), torch.from_numpy(missing)
    lowest = (mean - DEVIATIONS * mean.sqrt()).floor().clamp(min=0)
    span = math.ceil(2 * DEVIATIONS * (float(mean.max()) ** 0.5 + 1)) if len(mean) else 0
    total, weight = torch.zeros_like(rank), torch.zeros_like(rank)
    for step in range(span):
        number = lowest + step
        chance = _poisson(number, mean)
        total += chance / (rank - number).clamp(min=1)
        weight += chance
    found: Floats = (total / weight).numpy()
    return found


def _poisson(number: Tensor, mean: Tensor) -> Tensor:
    return (torch.xlogy(number, mean) - mean - torch.lgamma(number + 1)).exp()
