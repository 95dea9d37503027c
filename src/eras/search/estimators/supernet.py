"""The supernet: one set of embeddings for every candidate of the space.

A training step mixes U candidates by row: query number i of the batch is scored by candidate i mod U, so the batch's
gradient is the average over the U candidates of Algorithm 2, at the cost of one plain step. A reward is read off the
same embeddings by ranking validation triples with one candidate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eras.graph import TrainingView
from eras.models import BlockBilinear
from eras.models.bilinear import Ints
from eras.scoring import ScoringFunction
from eras.scoring.query import Plan
from eras.search.space import Candidate


class Supernet(BlockBilinear):
    """Embeddings of a graph under a grouping that may change, with the candidates that are in play."""

    def __init__(
        self,
        view: TrainingView,
        groups: npt.NDArray[np.int64],
        candidates: Sequence[Candidate],
        dim: int,
        reciprocal: bool,
        device: str = "cpu",
    ) -> None:
        names = view.relations.names.to_list()
        function = ScoringFunction(candidates[0], dict(zip(names, groups.tolist(), strict=True)))
        super().__init__(function, names, len(view.entities), dim, reciprocal=reciprocal, device=device)
        self.play(candidates)

    def play(self, candidates: Sequence[Candidate]) -> None:
        """Let these candidates score the queries to come."""
        self.candidates = tuple(candidates)
        plans = [Plan.of(s) for candidate in candidates for s in candidate]
        self.plans = [*plans, *(plan.transposed() for plan in plans)]

    def slots(self, relation: Ints, side: Ints) -> npt.NDArray[np.int64]:
        """Query i goes to candidate i mod U; within it, to the structure of its relation's group."""
        U, N = len(self.candidates), len(self.candidates[0])
        candidate = np.arange(len(relation)) % U
        slot: npt.NDArray[np.int64] = (side * U + candidate) * N + self.groups[relation]
        return slot
