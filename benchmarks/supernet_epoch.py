"""One supernet epoch beside one plain training epoch of the same size.

A batch that mixes structures row by row needs the same products as any other, so the supernet should cost little more
than ComplEx. Both take the same steps of an epoch, in short stretches that alternate, so that both see the same
machine. Making the candidates of an epoch counts as part of the supernet's time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import graph_or_stand_in, publish
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


def main(config: TrainConfig = CONFIG, functions: tuple[int, ...] = (4, 8, 16), rounds: int = 6) -> None:
    view = graph_or_stand_in("wn18rr", 40_943, 11, 93_003).training_view()
    plain = _plain(view, config)
    rounds = min(rounds, plain.steps // STRETCH)
    results: dict[str, Any] = {"steps of an epoch": plain.steps}
    for U in functions:
        supernet = Candidates(view, config, U)
        _seconds(plain.step, 0), _seconds(supernet.step, 0)  # the first steps of a process are slow
        plain_seconds, supernet_seconds = [], []
        for number in range(rounds):
            plain_seconds.append(_seconds(plain.step, number))
            supernet_seconds.append(_seconds(supernet.step, number))
        step, mixed = statistics.median(plain_seconds), statistics.median(supernet_seconds)
        results |= {
            f"U = {U}: plain step, ms (median)": 1e3 * step,
            f"U = {U}: supernet step, ms (median)": 1e3 * mixed,
            f"U = {U}: its candidates, ms": 1e3 * supernet.sampling_seconds,
            f"U = {U}: supernet epoch / plain epoch": (mixed + supernet.sampling_seconds) / step,
        }
    settings = {"graph": view.name, "function": "complex", "dim": config.dim, "batch": config.batch_size}
    publish("supernet_epoch", {**settings, "blocks": 4, "groups": 3, "rounds of steps": rounds}, results)


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


def _seconds(take_step: Callable[[int, int], object], stretch: int) -> float:
    """Seconds of a step, from one stretch of them."""
    began = time.perf_counter()
    for step in range(stretch * STRETCH, (stretch + 1) * STRETCH):
        take_step(0, step)
    return (time.perf_counter() - began) / STRETCH


if __name__ == "__main__":
    main()
