"""The training loop: steps, validations, checkpoints, and an end that can come at any moment."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from eras.errors import DivergedError, StoppedError
from eras.files import Journal
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import ScoringFunction
from eras.training.batches import epoch_order, make_batch
from eras.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from eras.training.config import TrainConfig
from eras.training.objective import ScoreBuffer
from eras.training.optimiser import Optimiser
from eras.training.step import Gradients, loss_and_gradients

Validate = Callable[[BlockBilinear], float]


@dataclass(frozen=True)
class Report:
    """What a watcher sees after each step; the MRRs are those of the last and the best validation."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    mrr: float | None
    best_mrr: float


class Trainer:
    """Trains in `folder`, which holds `checkpoint.safetensors`, `best.safetensors` and `journal.jsonl`.

    A new trainer on a folder with a checkpoint goes on from it; the end is the same to the bit as without the break.
    """

    def __init__(
        self,
        view: TrainingView,
        function: ScoringFunction,
        config: TrainConfig,
        folder: Path,
        validate: Validate,
    ) -> None:
        self.config, self.folder, self.validate = config, folder, validate
        torch.set_num_threads(config.threads or torch.get_num_threads())
        self.model = BlockBilinear(
            function,
            view.relations.names.to_list(),
            len(view.entities),
            config.dim,
            reciprocal=config.reciprocal,
            device=config.device,
        )
        self.queries = Queries.of(view.train, len(view.entities), len(view.relations))
        self.steps = math.ceil(len(self.queries) / config.batch_size)
        self.buffer = ScoreBuffer(len(view.entities), config.batch_size, config.memory_mb, self.model.device)
        self.gradients = Gradients.like(self.model)
        self.journal = Journal(folder / "journal.jsonl")
        self.progress = Progress()
        self._saved = time.monotonic()
        self.model.initialise(config.seed, config.init, config.init_scale)
        self.optimiser = Optimiser(self.model, self.gradients, config)
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
    ) -> BlockBilinear:
        """Train to the end and return the model of the best validation."""
        while not self.progress.finished:
            self._run_epoch(on_step, should_stop)
            self._end_epoch()
        self.save()
        tensors, _ = load_checkpoint(self._best, self.model.device)
        for name, table in self.model.tables.items():
            table.copy_(tensors[name])
        return self.model

    def _run_epoch(self, on_step: Callable[[Report], None], should_stop: Callable[[], bool]) -> None:
        p, size = self.progress, self.config.batch_size
        order = epoch_order(len(self.queries), self.config.seed, p.epoch)
        while p.step < self.steps:
            started = time.monotonic()
            batch = make_batch(self.model, self.queries, order[p.step * size : (p.step + 1) * size])
            loss, penalty = loss_and_gradients(
                self.model, batch, self.config, self.buffer, self.gradients, self._dropout_generator()
            )
            self._refuse_divergence(float(loss) + float(penalty))
            self.optimiser.step(p.epoch)
            p.loss_sum += float(loss)
            p.penalty_sum += float(penalty)
            p.step += 1
            p.seconds += time.monotonic() - started
            on_step(self._report())
            if should_stop():
                self.save()
                raise StoppedError(f"stopped in epoch {p.epoch + 1}, step {p.step} of {self.steps}; all is saved")
            if time.monotonic() - self._saved >= self.config.checkpoint_seconds:
                self.save()

    def _end_epoch(self) -> None:
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
        self.journal.write(
            "epoch",
            epoch=p.epoch + 1,
            loss=p.loss_sum / self.steps,
            penalty=p.penalty_sum / self.steps,
            lr=config.lr * config.lr_decay**p.epoch,
            mrr=mrr,
            seconds=round(p.seconds, 3),
        )
        p.finished = last or p.stale >= config.patience
        p.epoch, p.step, p.loss_sum, p.penalty_sum = p.epoch + 1, 0, 0.0, 0.0

    def save(self) -> None:
        """Checkpoint the whole state, unless it is no longer worth keeping."""
        self._refuse_non_finite_tables()
        state = {f"optimiser.{key}": value for key, value in self.optimiser.state().items()}
        save_checkpoint(self._checkpoint, {**self.model.tables, **state}, self.progress)
        self._saved = time.monotonic()

    def _restore(self) -> None:
        tensors, self.progress = load_checkpoint(self._checkpoint, self.model.device)
        with torch.no_grad():
            for name, table in self.model.tables.items():
                table.copy_(tensors.pop(name))
        self.optimiser.restore({key.removeprefix("optimiser."): value for key, value in tensors.items()})
        self.journal.write("resume", epoch=self.progress.epoch + 1, step=self.progress.step)

    def _dropout_generator(self) -> torch.Generator | None:
        if not self.config.dropout:
            return None
        place = (self.config.seed * 1_000_003 + self.progress.epoch) * 1_000_003 + self.progress.step
        return torch.Generator().manual_seed(place % (1 << 63))

    def _report(self) -> Report:
        p = self.progress
        return Report(p.epoch + 1, self.config.epochs, p.step, self.steps, p.loss_sum / p.step, p.last_mrr, p.best_mrr)

    def _refuse_divergence(self, loss: float) -> None:
        if not math.isfinite(loss):
            self._diverged("the loss is no longer finite")

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
