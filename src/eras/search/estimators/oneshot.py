"""The one-shot estimator: rewards read off the supernet, for many candidates on the same triples."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from eras.evaluation import answer_losses, rank
from eras.graph import TrainingView
from eras.graph.queries import HEAD, TAIL, Queries
from eras.scoring import Structure
from eras.scoring.query import query
from eras.search.estimators.supernet import Supernet
from eras.search.space import Candidate
from eras.training.batches import Asked, make_batch
from eras.training.products import by_products, softmax
from eras.training.workspace import Workspace

Measure = Literal["mrr", "loss", "train-mrr"]
Floats = npt.NDArray[np.float64]


class OneShot:
    """Judges candidates by filtered MRR on validation triples (or by loss, or on training triples: the ablations)."""

    def __init__(self, supernet: Supernet, view: TrainingView, measure: Measure, memory_mb: int) -> None:
        self.supernet, self.measure, self.memory_mb = supernet, measure, memory_mb
        self._sizes = len(view.entities), len(view.relations)
        self._triples = view.train if measure == "train-mrr" else view.valid
        self._known = Queries.of(np.concatenate([view.train, view.valid]), *self._sizes)

    def draw(self, size: int | None, rng: np.random.Generator) -> Queries:
        """A mini-batch of triples to judge on; all of them without a size, or if there are not more."""
        picked = rng.permutation(len(self._triples))[:size]
        return Queries.of(self._triples[picked], *self._sizes)

    def rewards(self, candidates: Sequence[Candidate | None], asked: Queries) -> Floats:
        """(count, N): what each candidate earns in each group, all on the same queries; the row's sum is its reward.

        A candidate that breaks the constraint (None) earns nothing.
        """
        earned = np.zeros((len(candidates), self.supernet.n_groups))
        for row, candidate in zip(earned, candidates, strict=True):
            if candidate is not None:
                np.add.at(row, self.supernet.groups, self._by_relation(candidate, asked))
        return earned

    def by_relation(self, structure: Structure, asked: Queries) -> Floats:
        """(n_relations,): what a structure would earn with each relation, were all of them in its group."""
        return self._by_relation((structure,) * self.supernet.n_groups, asked)

    def _by_relation(self, candidate: Candidate, asked: Queries) -> Floats:
        """Each relation's share of the mean over all answers."""
        self.supernet.play([candidate])
        if self.measure == "loss":
            loss = answer_losses(self.supernet, asked, memory_mb=self.memory_mb)
            relation = np.repeat(asked.relation, asked.counts)
            return np.bincount(relation, self.gained(loss), self._sizes[1]) / len(loss)
        table = rank(self.supernet, asked, self._known, memory_mb=self.memory_mb)
        reciprocal_rank = 2.0 / (table["low"] + table["high"]).to_numpy()
        earned = np.bincount(table["relation"].to_numpy(), reciprocal_rank, minlength=self._sizes[1])
        return earned / len(table)

    def gained(self, loss: Any) -> Any:
        """A loss as a reward: 1 is perfect, ½ is guessing, which loses log n; breaking the constraint earns 0."""
        return 1.0 - loss / (2.0 * np.log(self._sizes[0]))

    @torch.no_grad()
    def gradient(self, candidate: Candidate, asked: Queries) -> tuple[float, Floats]:
        """The loss of a candidate, and its gradient with respect to putting +r_k into each cell: (N, M, M, M)."""
        net = self.supernet
        net.play([candidate])
        batch = make_batch(net, asked, np.arange(len(asked)))
        h, r = net.entities[batch.entity], net.relations[batch.relation]
        q = query(h, r, batch.segments)
        wanted = Asked(batch.answer_row, batch.answer_entity, batch.counts)
        loss, dq, _ = by_products(softmax, q, net.entities, wanted, Workspace(len(asked), self.memory_mb))
        order = net.arrange(asked.entity, asked.relation, asked.side).order
        group, side = net.groups[asked.relation[order]], asked.side[order]
        M = candidate[0].blocks
        given, relation, towards = (x.view(len(x), M, -1) for x in (h, r, dq))
        gradient = np.zeros((len(candidate), M, M, M))
        for g, s in itertools.product(range(len(candidate)), (TAIL, HEAD)):
            rows = torch.from_numpy(np.flatnonzero((group == g) & (side == s))).to(net.device)
            joint = torch.einsum("biw,bkw->bikw", given[rows], relation[rows])
            part = torch.einsum("bikw,bjw->ijk", joint, towards[rows]).double().cpu().numpy()
            gradient[g] += part if s == TAIL else part.swapaxes(0, 1)
        return float(loss), gradient
