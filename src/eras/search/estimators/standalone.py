"""The stand-alone estimator: a function trained from scratch, for few epochs at a small dimension, on one thread.

One thread makes a trial's result independent of how many trials run beside it, so a search gives the same result with
any number of workers.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from eras.errors import DivergedError
from eras.evaluation import rank
from eras.graph import TrainingView
from eras.graph.model import Triples
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import ScoringFunction
from eras.training import TrainConfig
from eras.training.stepper import Stepper

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """The part of a graph that a worker needs."""

    relations: Sequence[str]
    n_entities: int
    train: Triples
    valid: Triples

    @classmethod
    def of(cls, view: TrainingView) -> Task:
        return cls(view.relations.names.to_list(), len(view.entities), view.train, view.valid)


@dataclass(frozen=True, eq=False)
class Trial:
    """Validation MRR after training, and its parts: the reciprocal ranks of each relation, added up (n_relations,)."""

    mrr: float
    by_relation: Floats
    seconds: float


class StandAlone:
    """Trains functions side by side, each in a process of its own; a single worker trains in this process."""

    def __init__(self, view: TrainingView, config: TrainConfig, workers: int | None = None) -> None:
        self.task, self.config = Task.of(view), config
        self.workers = (workers or default_workers()) if config.device == "cpu" else 1

    def measure(self, functions: Sequence[ScoringFunction], epochs: int) -> Iterator[Trial]:
        """The trial of each function after `epochs` epochs, in the order given, each as soon as it is known."""
        if self.workers == 1:
            yield from (self._alone(function, epochs) for function in functions)
            return
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1), warnings.catch_warnings():
            # A search that is stopped between two trials leaves those that were begun: no news for its user.
            warnings.filterwarnings("ignore", "[0-9]+ tasks (which were|have been)")
            run = Parallel(n_jobs=self.workers, return_as="generator")
            yield from run(delayed(_in_worker)(self.task, f, self.config, epochs) for f in functions)

    def _alone(self, function: ScoringFunction, epochs: int) -> Trial:
        threads = torch.get_num_threads()
        try:
            return train_briefly(self.task, function, self.config, epochs)
        finally:
            torch.set_num_threads(threads)


def default_workers() -> int:
    """The cores that this process may use."""
    from joblib import cpu_count

    return int(cpu_count())


def _in_worker(task: Task, function: ScoringFunction, config: TrainConfig, epochs: int) -> Trial:
    """A trial in a process of its own, which leaves Ctrl-C to the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return train_briefly(task, function, config, epochs)


def train_briefly(task: Task, function: ScoringFunction, config: TrainConfig, epochs: int) -> Trial:
    """Train for `epochs` epochs on one thread; the best validation on the way, as a full training would keep it."""
    started = time.monotonic()
    torch.set_num_threads(1)
    sizes = task.n_entities, len(task.relations)
    asked = Queries.of(task.valid, *sizes)
    known = Queries.of(np.concatenate([task.train, task.valid]), *sizes)
    best, parts = 0.0, np.zeros(sizes[1])
    for epoch, model in enumerate(train_epochs(task, function, config, epochs), start=1):
        if epoch % config.validate_every and epoch < epochs:
            continue
        try:
            table = rank(model, asked, known, memory_mb=config.memory_mb)
        except DivergedError:
            break
        reciprocal_rank: Floats = 2.0 / (table["low"] + table["high"]).to_numpy()
        if reciprocal_rank.mean() > best:
            best = float(reciprocal_rank.mean())
            parts = np.bincount(table["relation"].to_numpy(), reciprocal_rank, sizes[1]).astype(np.float64)
    return Trial(best, parts, time.monotonic() - started)


def train_epochs(task: Task, function: ScoringFunction, config: TrainConfig, epochs: int) -> Iterator[BlockBilinear]:
    """The model after each epoch; nothing is kept on disk."""
    stepper = _stepper(task, function, config)
    for epoch in range(epochs):
        for step in range(stepper.steps):
            stepper.step(epoch, step)
        yield stepper.model


def epoch_seconds(view: TrainingView, function: ScoringFunction, config: TrainConfig, threads: int = 1) -> float:
    """What an epoch will take on so many threads, from a few steps of it."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    stepper = _stepper(Task.of(view), function, config)
    taken = min(4, stepper.steps)
    stepper.step(0, 0)
    started = time.monotonic()
    for step in range(taken):
        stepper.step(0, step)
    torch.set_num_threads(before)
    return (time.monotonic() - started) / taken * stepper.steps


def _stepper(task: Task, function: ScoringFunction, config: TrainConfig) -> Stepper:
    model = BlockBilinear(
        function, task.relations, task.n_entities, config.dim, reciprocal=config.reciprocal, device=config.device
    )
    model.initialise(config.seed, config.init, config.init_scale)
    return Stepper(model, Queries.of(task.train, task.n_entities, len(task.relations)), config)
