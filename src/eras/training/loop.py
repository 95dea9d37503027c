"""The training loop: steps, validations, checkpoints, and an end that can come at any moment."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from eras.errors import DivergedError, StoppedError
from eras.files import Journal
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.models import BlockBilinear, EmbeddingModel, Function, KnowledgeModel, build_model
from eras.training.autograd import AutogradStepper
from eras.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from eras.training.config import TrainConfig
from eras.training.stepper import BlockStepper, Stepper

Validate = Callable[[KnowledgeModel], float]

STEPS_AT_ONCE = 32
"""Taken at the most before a watcher, the clock or Ctrl-C has its turn. Only short ones are taken together."""


@dataclass(frozen=True)
class Report:
    """What a watcher sees after steps and validations; the MRRs are those of the last of these and of the best."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    mrr: float | None
    best_mrr: float


def make_stepper(model: KnowledgeModel, queries: Queries, config: TrainConfig) -> Stepper[Any]:
    """What trains a model: gradients written by hand for block structures, autograd for the others."""
    if isinstance(model, BlockBilinear):
        return BlockStepper(model, queries, config)
    assert isinstance(model, EmbeddingModel)
    return AutogradStepper(model, queries, config)


class Trainer:
    """Trains in `folder`, which holds `checkpoint.safetensors`, `best.safetensors` and `journal.jsonl`.

    A new trainer on a folder with a checkpoint goes on from it; the end is the same to the bit as without the break.
    """

    def __init__(
        self,
        view: TrainingView,
        function: Function,
        config: TrainConfig,
        folder: Path,
        validate: Validate,
    ) -> None:
        self.config, self.folder, self.validate = config, folder, validate
        torch.set_num_threads(config.threads or torch.get_num_threads())
        self.model = build_model(
            function,
            view.relations.names.to_list(),
            len(view.entities),
            config.dim,
            reciprocal=config.reciprocal,
            device=config.device,
        )
        self.model.initialise(config.seed, config.init, config.init_scale)
        queries = Queries.of(view.train, len(view.entities), len(view.relations))
        self.stepper = make_stepper(self.model, queries, config)
        self.journal = Journal(folder / "journal.jsonl")
        self.progress = Progress()
        self._saved = time.monotonic()
        if self._checkpoint.exists():
            self._restore()

    @property
    def _checkpoint(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    @property
    def _best(self) -> Path:
        return self.folder / "best.safetensors"

    @torch.no_grad()
    def run(
        self,
        on_step: Callable[[Report], None] = lambda report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> KnowledgeModel:
        """Train to the end and return the model of the best validation."""
        while not self.progress.finished:
            self._run_epoch(on_step, should_stop)
            self._end_epoch(on_step)
        self.save()
        tensors, _ = load_checkpoint(self._best, self.model.device)
        for name, table in self.model.tables.items():
            table.copy_(tensors[name])
        return self.model

    def _run_epoch(self, on_step: Callable[[Report], None], should_stop: Callable[[], bool]) -> None:
        p, steps = self.progress, self.stepper.steps
        while p.step < steps:
            started = time.monotonic()
            for loss, penalty in self.stepper.run(p.epoch, p.step, STEPS_AT_ONCE):
                if not math.isfinite(loss + penalty):
                    self._diverged("the loss is no longer finite")
                p.loss_sum += loss
                p.penalty_sum += penalty
                p.step += 1
            p.seconds += time.monotonic() - started
            on_step(self._report())
            if should_stop():
                self.save()
                raise StoppedError(f"stopped in epoch {p.epoch + 1}, step {p.step} of {steps}; all is saved")
            if time.monotonic() - self._saved >= self.config.checkpoint_seconds:
                self.save()

    def _end_epoch(self, on_step: Callable[[Report], None]) -> None:
        p, config = self.progress, self.config
        last = p.epoch + 1 == config.epochs
        mrr = None
        if (p.epoch + 1) % config.validate_every == 0 or last:
            self._refuse_non_finite_tables()
            mrr = self.validate(self.model)
            p.last_mrr = mrr
            p.stale = 0 if mrr > p.best_mrr else p.stale + 1
            if mrr > p.best_mrr:
                p.best_mrr, p.best_epoch = mrr, p.epoch
                save_checkpoint(self._best, self.model.tables, p)
            on_step(self._report())
        self.journal.write(
            "epoch",
            epoch=p.epoch + 1,
            loss=p.loss_sum / self.stepper.steps,
            penalty=p.penalty_sum / self.stepper.steps,
            lr=config.lr * config.lr_decay**p.epoch,
            mrr=mrr,
            seconds=round(p.seconds, 3),
        )
        following, tired = p.epoch + 1, p.stale >= config.patience
        if tired and config.full_epochs and self.stepper.samples(p.epoch):
            following, p.stale, tired = config.epochs - config.full_epochs, 0, False
        p.finished = last or tired
        p.epoch, p.step, p.loss_sum, p.penalty_sum = following, 0, 0.0, 0.0

    def save(self) -> None:
        """Checkpoint the whole state, unless it is no longer worth keeping."""
        self._refuse_non_finite_tables()
        state = {f"optimiser.{key}": value for key, value in self.stepper.optimiser.state().items()}
        save_checkpoint(self._checkpoint, {**self.model.tables, **state}, self.progress)
        self._saved = time.monotonic()

    def _restore(self) -> None:
        tensors, self.progress = load_checkpoint(self._checkpoint, self.model.device)
        with torch.no_grad():
            for name, table in self.model.tables.items():
                table.copy_(tensors.pop(name))
        self.stepper.optimiser.restore({key.removeprefix("optimiser."): value for key, value in tensors.items()})
        self.journal.write("resume", epoch=self.progress.epoch + 1, step=self.progress.step)

    def _report(self) -> Report:
        p = self.progress
        return Report(
            p.epoch + 1, self.config.epochs, p.step, self.stepper.steps, p.loss_sum / p.step, p.last_mrr, p.best_mrr
        )

    def _refuse_non_finite_tables(self) -> None:
        if not all(torch.isfinite(table).all() for table in self.model.tables.values()):
            self._diverged("the embeddings are no longer finite")

    def _diverged(self, what: str) -> None:
        p = self.progress
        self.journal.write("diverged", epoch=p.epoch + 1, step=p.step, reason=what)
        kept = "the last good checkpoint is kept" if self._checkpoint.exists() else "no checkpoint was due yet"
        raise DivergedError(
            f"{what} in epoch {p.epoch + 1}, step {p.step + 1} ({kept}). "
            f"Lower lr (now {self.config.lr:g}) or init_scale (now {self.config.init_scale:g}), or use adagrad"
        )
