"""The one-shot estimator: rewards read off the supernet, for many candidates on the same triples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from eras.evaluation import mean_loss, metrics, rank
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.search.space import Candidate
from eras.search.supernet import Supernet

Measure = Literal["mrr", "loss", "train-mrr"]


class OneShot:
    """Judges candidates by filtered MRR on validation triples (or by loss, or on training triples: the ablations)."""

    def __init__(self, supernet: Supernet, view: TrainingView, measure: Measure, memory_mb: int) -> None:
        self.supernet, self.measure, self.memory_mb = supernet, measure, memory_mb
        self._sizes = len(view.entities), len(view.relations)
        self._triples = view.train if measure == "train-mrr" else view.valid
        self._known = Queries.of(np.concatenate([view.train, view.valid]), *self._sizes)

    def draw(self, size: int, rng: np.random.Generator) -> Queries:
        """A mini-batch of triples to judge on; all of them if there are not more."""
        picked = rng.permutation(len(self._triples))[:size]
        return Queries.of(self._triples[picked], *self._sizes)

    def rewards(self, candidates: Sequence[Candidate | None], asked: Queries) -> npt.NDArray[np.float64]:
        """One reward for each candidate, all on the same queries; 0 for what breaks the constraint (None)."""
        return np.array([0.0 if c is None else self._reward(c, asked) for c in candidates])

    def _reward(self, candidate: Candidate, asked: Queries) -> float:
        self.supernet.play([candidate])
        if self.measure == "loss":
            return float(np.exp(-mean_loss(self.supernet, asked, memory_mb=self.memory_mb)))
        return metrics(rank(self.supernet, asked, self._known, memory_mb=self.memory_mb))["mrr"]
