"""One supernet epoch beside one plain training epoch of the same size.

A batch that mixes structures row by row needs the same products as any other, so the supernet should cost little more
than ComplEx. Both take the same steps of an epoch, in short stretches that alternate, so that both see the same
machine. Making the candidates of an epoch counts as part of the supernet's time.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import publish, run
from benchmarks.graphs import graph_or_stand_in
from benchmarks.turns import Action, take_turns
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.search.config import method_config
from eras.search.oneshot import OneShotSearch
from eras.training import TrainConfig
from eras.training.stepper import BlockStepper

CONFIG = TrainConfig(dim=128, batch_size=256, regulariser="n3", reg_weight=0.1, optimiser="adagrad", lr=0.3)
STRETCH = 10
"""Steps of the one before the other has its turn."""


@dataclass(frozen=True)
class Measured:
    """Seconds of a step; `candidates` is the time to make those of one step."""

    plain: float
    supernet: float
    candidates: float
    rounds: int

    @property
    def ratio(self) -> float:
        return (self.supernet + self.candidates) / self.plain


def main(config: TrainConfig = CONFIG, functions: tuple[int, ...] = (4, 8, 16), rounds: int = 6) -> None:
    view = graph_or_stand_in("wn18rr").training_view()
    plain = _plain(view, config)
    rows: dict[str, dict[str, Any]] = {}
    for U in functions:
        measured = measure(view, plain, config, U, rounds)
        rows[f"U = {U}"] = {
            "plain step, ms": 1e3 * measured.plain,
            "supernet step, ms": 1e3 * measured.supernet,
            "its candidates, ms": 1e3 * measured.candidates,
            "supernet epoch / plain epoch": measured.ratio,
            "rounds of steps": measured.rounds,
        }
    settings = {"graph": view.name, "function": "complex", "dim": config.dim, "batch": config.batch_size}
    publish("supernet_epoch", {**settings, "blocks": 4, "groups": 3, "steps of an epoch": plain.steps}, rows)


def ratio(view: TrainingView, config: TrainConfig, functions: int, rounds: int) -> float:
    """A supernet step to a plain one."""
    return measure(view, _plain(view, config), config, functions, rounds).ratio


def measure(view: TrainingView, plain: BlockStepper, config: TrainConfig, functions: int, rounds: int) -> Measured:
    supernet = Candidates(view, config, functions)
    rounds = min(rounds, plain.steps // STRETCH)
    take_turns(_stretches(plain.step), _stretches(supernet.step), least=1)  # the first steps of a process are slow
    alone, mixed = take_turns(_stretches(plain.step), _stretches(supernet.step), least=rounds)
    return Measured(statistics.median(alone), statistics.median(mixed), supernet.sampling_seconds, rounds)


class Candidates:
    """A one-shot search that trains its embeddings, with the candidates of the first epoch made beforehand."""

    def __init__(self, view: TrainingView, config: TrainConfig, functions: int) -> None:
        settings = method_config("eras", blocks=4, groups=3, functions=functions, anchored=True, training=config)
        with tempfile.TemporaryDirectory() as folder:
            self.search = OneShotSearch(view, settings, Path(folder))
        self.search.pool(1)  # loads what the first candidate needs
        began = time.perf_counter()
        self.pool = self.search.pool(self.search.stepper.steps)
        self.sampling_seconds = (time.perf_counter() - began) / self.search.stepper.steps
        """Time to make the candidates of one step."""

    def step(self, epoch: int, step: int) -> object:
        self.search.supernet.play(self.pool[step])
        return self.search.stepper.step(epoch, step)


def _plain(view: TrainingView, config: TrainConfig) -> BlockStepper:
    names, n_entities = view.relations.names.to_list(), len(view.entities)
    model = BlockBilinear(named("complex"), names, n_entities, config.dim, reciprocal=config.reciprocal)
    model.initialise(config.seed, config.init, config.init_scale)
    return BlockStepper(model, Queries.of(view.train, n_entities, len(names)), config)


def _stretches(take_step: Callable[[int, int], object]) -> Action:
    """Each call takes the next stretch of steps of the first epoch and says how long one of them took."""
    numbers = itertools.count()

    def stretch() -> float:
        first = next(numbers) * STRETCH
        began = time.perf_counter()
        for step in range(first, first + STRETCH):
            take_step(0, step)
        return (time.perf_counter() - began) / STRETCH

    return stretch


if __name__ == "__main__":
    run(main)
