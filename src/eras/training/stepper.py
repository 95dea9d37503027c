"""A model in training, one step at a time: what the loop, the supernet and short trials all drive."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import torch

from eras.errors import UsageError
from eras.graph.queries import Ints, Queries
from eras.models import BlockBilinear, KnowledgeModel
from eras.training.batches import candidate_rng, epoch_order, make_batch, sample_candidates
from eras.training.config import TrainConfig
from eras.training.optimiser import Gradient, Optimiser
from eras.training.step import loss_and_gradients
from eras.training.workspace import Workspace

if TYPE_CHECKING:
    from eras.training.fused import FusedStep

_AHEAD = 1 << 16
"""Questions, about so many, of epochs to come that are put in order at once: for one alone this takes twice as long."""

AnyModel = TypeVar("AnyModel", bound=KnowledgeModel)
Gradients = tuple[float, float, Mapping[str, Gradient]]
"""Loss, penalty, and the gradients of both together, by table."""


class Stepper(ABC, Generic[AnyModel]):
    """Step s of epoch e is a function of the parameters, the optimiser's state and (seed, e, s) alone."""

    optimiser: Optimiser

    def __init__(self, model: AnyModel, queries: Queries, config: TrainConfig) -> None:
        self.model, self.queries, self.config = model, queries, config
        self.steps = math.ceil(len(queries) / config.batch_size)
        self._orders: dict[int, Ints] = {}

    def step(self, epoch: int, step: int) -> tuple[float, float]:
        """Take one step; (loss, penalty). Where they are not finite, the parameters are left as they were."""
        return self.run(epoch, step, 1)[0]

    def run(self, epoch: int, step: int, most: int) -> list[tuple[float, float]]:
        """Take this step, and more of its epoch where that saves time, up to `most`; what `step` returns, of each."""
        return [self._move(epoch, self.gradients(self._picked(epoch, step, 1), epoch, step))]

    def _move(self, epoch: int, found: Gradients) -> tuple[float, float]:
        loss, penalty, gradients = found
        if math.isfinite(loss + penalty):
            self.optimiser.step(epoch, gradients)
        return loss, penalty

    @abstractmethod
    def gradients(self, picked: Ints, epoch: int, step: int) -> Gradients:
        """What the questions at positions `picked` say; it may be overwritten by the next call."""

    def samples(self, epoch: int) -> bool:
        """Whether the questions of this epoch are compared with a sample of the entities."""
        config = self.config
        return 0 < config.negatives < self.model.n_entities and epoch < config.epochs - config.full_epochs

    def place(self, epoch: int, step: int) -> int:
        """A seed for what is drawn in this step alone."""
        return ((self.config.seed * 1_000_003 + epoch) * 1_000_003 + step) % (1 << 63)

    def _picked(self, epoch: int, step: int, steps: int) -> Ints:
        """The questions of so many steps, one after the other."""
        if epoch not in self._orders:
            ahead = range(epoch, epoch + 1 + _AHEAD // (1 + len(self.queries)))
            self._orders = {epoch: epoch_order(len(self.queries), self.config.seed, epoch) for epoch in ahead}
        size = self.config.batch_size
        return self._orders[epoch][step * size : (step + steps) * size]


class BlockStepper(Stepper[BlockBilinear]):
    """The block-bilinear model, with gradients written by hand: three matrix products for each step."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig) -> None:
        super().__init__(model, queries, config)
        self.optimiser = Optimiser(model.tables, config)
        self._fused = _fused_step(model, queries, config, self.optimiser, sampled=False)
        self._fused_sampled = _fused_step(model, queries, config, self.optimiser, sampled=True)
        self._workspace = Workspace(config.batch_size, config.memory_mb, config.precision)

    def run(self, epoch: int, step: int, most: int) -> list[tuple[float, float]]:
        fused = self._fused_in(epoch)
        if fused is None or not fused.moves:
            return super().run(epoch, step, most)
        taken = fused.learn(self._picked(epoch, step, most), epoch, step)
        return taken or [self._move(epoch, self._by_pytorch(self._picked(epoch, step, 1), epoch, step))]

    def gradients(self, picked: Ints, epoch: int, step: int) -> Gradients:
        fused = self._fused_in(epoch)
        found = fused.gradients(picked, epoch, step) if fused is not None else None
        return found or self._by_pytorch(picked, epoch, step)

    def _fused_in(self, epoch: int) -> FusedStep | None:
        return self._fused_sampled if self.samples(epoch) else self._fused

    @torch.no_grad()
    def _by_pytorch(self, picked: Ints, epoch: int, step: int) -> Gradients:
        config, model = self.config, self.model
        batch = make_batch(model, self.queries, picked)
        candidates = None
        if self.samples(epoch):
            # The entities asked about are candidates too: then no row has a gradient but those of the candidates.
            wanted, rng = torch.cat([batch.answer_entity, batch.entity]), candidate_rng(config.seed, epoch, step)
            candidates = sample_candidates(wanted, model.n_entities, config.negatives, rng)
        generator = torch.Generator().manual_seed(self.place(epoch, step)) if config.dropout else None
        loss, penalty, gradients = loss_and_gradients(model, batch, config, self._workspace, generator, candidates)
        return float(loss), float(penalty), gradients


def _fused_step(
    model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser, *, sampled: bool
) -> FusedStep | None:
    """Where steps can be fused."""
    plain = not config.dropout and not config.relation_weight and config.regulariser != "dura"
    plain = plain and config.precision == "float32" and model.device.type == "cpu"
    if not plain or (sampled and not config.negatives):
        return None
    try:
        from eras.training.fused import fused_step  # it loads numba, in half a second
    except UsageError:  # numba is an extra
        return None
    return fused_step(model, queries, config, optimiser, sampled=sampled)
