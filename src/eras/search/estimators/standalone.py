"""The stand-alone estimator: a function trained from scratch, for few epochs at a small dimension, on one thread.

One thread makes a trial's result independent of how many trials run beside it, so a search gives the same result with
any number of workers.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from eras.errors import DivergedError
from eras.evaluation import Selection
from eras.graph import TrainingView
from eras.graph.model import Triples
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import ScoringFunction
from eras.training import TrainConfig
from eras.training.stepper import BlockStepper

Floats = npt.NDArray[np.float64]

VALIDATIONS = 6
"""How often a trial is validated at least, if it has so many epochs."""

MEMORY_SHARE = 0.7
PROCESS_BYTES, FACT_BYTES, TABLES = 400 * 2**20, 300, 4
"""What a trial takes at most: a process with torch, a triple in all its arrays, tables with what an optimiser keeps."""

FEW_VALID = 2000
"""Validation triples below which replicas of a trial are validated on different ones."""

_DEAL = 13  # part of the seed, so that no other generator draws the same numbers

SEEDS_APART = 1000
"""Between the seeds of a function's trials: far enough that searches with seeds 0, 1, 2 share none."""


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

    def dealt(self, replica: int) -> Task:
        """The same facts dealt anew into as many for training and for validation, where those are few.

        A ranking by few validation triples is noise to a large part, whatever the seed of training; trials on several
        deals average it out, as cross-validation does. Number 0 is the split as it was given.
        """
        if not replica or len(self.valid) >= FEW_VALID:
            return self
        facts = np.concatenate([self.train, self.valid])
        dealt = facts[np.random.default_rng([replica, 0, 0, _DEAL]).permutation(len(facts))]
        return replace(self, train=dealt[: len(self.train)], valid=dealt[len(self.train) :])


@dataclass(frozen=True, eq=False)
class Trial:
    """Selection MRR of a training, and its parts: the reciprocal ranks of each relation, added up (n_relations,)."""

    mrr: float
    by_relation: Floats
    seconds: float


class StandAlone:
    """Trains functions side by side, each in a process of its own; a single worker trains in this process."""

    def __init__(self, view: TrainingView, config: TrainConfig, workers: int | None = None) -> None:
        self.task, self.config = Task.of(view), config
        self.workers = (workers or default_workers(view, config)) if config.device == "cpu" else 1

    def measure(
        self, functions: Sequence[ScoringFunction], epochs: int, replicas: Sequence[int] | None = None
    ) -> Iterator[Trial]:
        """The trial of each function over `epochs` epochs, in the order given, each as soon as it is known.

        Trials of one function with different numbers in `replicas` differ in their seed and, on small graphs, in
        which of the facts they are validated by.
        """
        wanted = list(zip(functions, replicas or [0] * len(functions), strict=True))
        if self.workers == 1:
            yield from (self._alone(*self._prepared(replica), function, epochs) for function, replica in wanted)
            return
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1), warnings.catch_warnings():
            # A search that is stopped between two trials leaves those that were begun: no news for its user.
            warnings.filterwarnings("ignore", "[0-9]+ tasks (which were|have been)")
            run = Parallel(n_jobs=self.workers, return_as="generator")
            with _deaf_children(), _warned_less("ignore:resource_tracker:UserWarning"):
                trials = run(delayed(_in_worker)(*self._prepared(replica), f, epochs) for f, replica in wanted)
            yield from trials

    def _prepared(self, replica: int) -> tuple[Task, TrainConfig]:
        return self.task.dealt(replica), self.config.updated(seed=self.config.seed + SEEDS_APART * replica)

    def _alone(self, task: Task, config: TrainConfig, function: ScoringFunction, epochs: int) -> Trial:
        threads = torch.get_num_threads()
        try:
            return train_briefly(task, config, function, epochs)
        finally:
            torch.set_num_threads(threads)


def default_workers(view: TrainingView, config: TrainConfig) -> int:
    """As many as there are cores for this process, and as their memory has room for."""
    from joblib import cpu_count

    tables = 4 * config.dim * (len(view.entities) + 2 * len(view.relations))
    facts = (len(view.train) + len(view.valid)) * FACT_BYTES
    each = PROCESS_BYTES + TABLES * tables + facts + config.memory_mb * 2**20
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(int(cpu_count()), int(MEMORY_SHARE * memory / each)))


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started here inherit that Ctrl-C is ignored, so they miss it even while they are still starting.

    For that moment it is ignored here too. Only the main thread can say so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _warned_less(filter_: str) -> Iterator[None]:
    """Processes started here inherit a filter of warnings.

    One of them removes semaphores that are left over. It warns where a search ends just as it removes them itself.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{before},{filter_}" if before else filter_
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _in_worker(task: Task, config: TrainConfig, function: ScoringFunction, epochs: int) -> Trial:
    """A trial in a process of its own, which leaves Ctrl-C to the process that started it, whoever that was."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return train_briefly(task, config, function, epochs)


def train_briefly(task: Task, config: TrainConfig, function: ScoringFunction, epochs: int) -> Trial:
    """Train for `epochs` epochs on one thread; the result is the mean over the better half of the validations.

    Full training keeps the best of them, but the maximum of few noisy figures tells less than their mean.
    """
    started = time.monotonic()
    torch.set_num_threads(1)
    sizes = task.n_entities, len(task.relations)
    selection = Selection(task.train, task.valid, *sizes, config.memory_mb)
    every, found = min(config.validate_every, max(1, epochs // VALIDATIONS)), [np.zeros(sizes[1])]
    for epoch, model in enumerate(train_epochs(task, function, config, epochs), start=1):
        if epoch % every and epoch < epochs:
            continue
        try:
            relation, reciprocal_rank = selection.by_answer(model)
        except DivergedError:
            break
        found.append(np.bincount(relation, reciprocal_rank, sizes[1]).astype(np.float64))
    better = sorted(found, key=np.sum, reverse=True)[: max(1, len(found) // 2)]
    parts = np.mean(better, axis=0)
    return Trial(float(parts.sum() / (2 * len(task.valid))), parts, time.monotonic() - started)


def train_epochs(task: Task, function: ScoringFunction, config: TrainConfig, epochs: int) -> Iterator[BlockBilinear]:
    """The model after each epoch; nothing is kept on disk."""
    stepper = _stepper(task, function, config)
    for epoch in range(epochs):
        step = 0
        while step < stepper.steps:
            step += len(stepper.run(epoch, step, stepper.steps))
        yield stepper.model


@dataclass(frozen=True)
class Pace:
    """Seconds that an epoch takes, and a look at validation."""

    epoch: float
    validation: float

    def trial(self, epochs: int) -> float:
        """What a trial of so many epochs takes."""
        return epochs * self.epoch + min(epochs, VALIDATIONS) * self.validation


def measure_pace(view: TrainingView, function: ScoringFunction, config: TrainConfig, threads: int = 1) -> Pace:
    """How fast training will be on so many threads, from a few steps and some validation triples."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    stepper = _stepper(Task.of(view), function, config)
    some = view.valid[:: max(1, len(view.valid) // 200)]
    selection = Selection(view.train, some, len(view.entities), len(view.relations), config.memory_mb)
    stepper.step(0, 0)  # the first step and the first ranking on a machine compile
    selection.mrr(stepper.model)
    started, taken = time.monotonic(), 0
    while taken < min(4, stepper.steps):
        taken += len(stepper.run(0, taken, 32))
    trained = time.monotonic()
    selection.mrr(stepper.model)
    looked = time.monotonic() - trained
    torch.set_num_threads(before)
    return Pace((trained - started) / taken * stepper.steps, looked * len(view.valid) / max(1, len(some)))


def _stepper(task: Task, function: ScoringFunction, config: TrainConfig) -> BlockStepper:
    model = BlockBilinear(
        function, task.relations, task.n_entities, config.dim, reciprocal=config.reciprocal, device=config.device
    )
    model.initialise(config.seed, config.init, config.init_scale)
    return BlockStepper(model, Queries.of(task.train, task.n_entities, len(task.relations)), config)
