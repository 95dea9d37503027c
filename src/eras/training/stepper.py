"""A model in training, one step at a time: what the loop, the supernet and short trials all drive."""

from __future__ import annotations

import math

import numpy as np
import torch

from eras.graph.queries import Ints, Queries
from eras.models import BlockBilinear
from eras.training.batches import epoch_order, make_batch, sample_candidates
from eras.training.config import TrainConfig
from eras.training.objective import ScoreBuffer
from eras.training.optimiser import Optimiser
from eras.training.step import Gradients, loss_and_gradients


class Stepper:
    """Step s of epoch e is a function of the parameters, the optimiser's state and (seed, e, s) alone."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig) -> None:
        self.model, self.queries, self.config = model, queries, config
        self.steps = math.ceil(len(queries) / config.batch_size)
        self.gradients = Gradients.like(model)
        self.optimiser = Optimiser(model, self.gradients, config)
        self._buffer = ScoreBuffer(model.n_entities, config.batch_size, config.memory_mb, model.device)
        self._order: tuple[int, Ints] | None = None

    @torch.no_grad()
    def step(self, epoch: int, step: int) -> tuple[float, float]:
        """Take one step; (loss, penalty). Where they are not finite, the parameters are left as they were."""
        size = self.config.batch_size
        picked = self._order_of(epoch)[step * size : (step + 1) * size]
        batch = make_batch(self.model, self.queries, picked)
        candidates = None
        if 0 < self.config.negatives < self.model.n_entities:
            rng = np.random.default_rng([self.config.seed, epoch, step])
            candidates = sample_candidates(batch, self.model.n_entities, self.config.negatives, rng)
        generator = self._dropout_generator(epoch, step)
        loss, penalty = loss_and_gradients(
            self.model, batch, self.config, self._buffer, self.gradients, generator, candidates
        )
        values = float(loss), float(penalty)
        if math.isfinite(sum(values)):
            self.optimiser.step(epoch)
        return values

    def _order_of(self, epoch: int) -> Ints:
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, epoch_order(len(self.queries), self.config.seed, epoch)
        return self._order[1]

    def _dropout_generator(self, epoch: int, step: int) -> torch.Generator | None:
        if not self.config.dropout:
            return None
        place = (self.config.seed * 1_000_003 + epoch) * 1_000_003 + step
        return torch.Generator().manual_seed(place % (1 << 63))
