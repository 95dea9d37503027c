"""Training steps beside the three matrix products that they cannot do without, and the speed of the processor.

Only a stretch of steps is taken, of full batches; an epoch is as many times the median step as it has steps. Steps and
bare products take turns, so that both see the same machine. The products are those of PyTorch by its faster library,
each over the whole batch. Beside them stands what the processor can do at most, for products that stay in its cache.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.common import publish, run
from benchmarks.graphs import graph_or_stand_in
from benchmarks.processor import tiles
from benchmarks.turns import Action, median_ratio, repeated, take_turns, timed
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.models.cache import rows_in_cache
from eras.models.multiply import product
from eras.scoring import named
from eras.training import TrainConfig
from eras.training.loop import STEPS_AT_ONCE
from eras.training.stepper import BlockStepper

CONFIG = TrainConfig(batch_size=512, regulariser="n3", reg_weight=0.05, optimiser="adagrad")
GRAPHS = "umls", "wn18rr", "fb15k237", "humangene"
DIMS = 64, 256, 1024

_TURN = 0.02
"""Seconds of steps, and of products, before the other has its turn; a single step may take longer."""


@dataclass(frozen=True)
class Measured:
    """Seconds of a step and of its products, turn by turn; the processor's speed, in operations per second."""

    steps: list[float]
    products: list[float]
    processor: float | None
    queries: int
    batch: int
    steps_of_epoch: int

    @property
    def ratio(self) -> float:
        return median_ratio(self.steps, self.products)


def main(
    graphs: Sequence[str] = GRAPHS,
    dims: Sequence[int] = DIMS,
    function: str = "complex",
    seconds: float = 10.0,
    least: int = 5,
    batch_size: int = CONFIG.batch_size,
) -> None:
    rows: dict[str, dict[str, Any]] = {}
    for name in graphs:
        view = graph_or_stand_in(name).training_view()
        for dim in dims:
            measured = measure(view, dim, seconds, least, function, batch_size)
            gc.collect()  # the tables of a large model
            step, product = statistics.median(measured.steps), statistics.median(measured.products)
            billions = 6e-9 * measured.batch * len(view.entities) * dim
            rows[f"{view.name}, dim {dim}"] = {
                "queries": measured.queries,
                "batch": measured.batch,
                "turns": len(measured.steps),
                "step, ms": 1e3 * step,
                "products, ms": 1e3 * product,
                "step / products": measured.ratio,
                "step, GFLOP/s": billions / step,
                "products, GFLOP/s": billions / product,
                **({"processor, GFLOP/s": measured.processor / 1e9} if measured.processor else {}),
                "epoch, s": step * measured.steps_of_epoch,
            }
            print(f"  {view.name}, dim {dim}: step / products {measured.ratio:.3f}", flush=True)
    settings = {"function": function, "optimiser": CONFIG.optimiser, "regulariser": CONFIG.regulariser}
    publish("training_epoch", {**settings, "seconds of each": seconds}, rows)


def measure(
    view: TrainingView,
    dim: int,
    seconds: float,
    least: int,
    function: str = "complex",
    batch_size: int = CONFIG.batch_size,
) -> Measured:
    queries = Queries.of(view.train, len(view.entities), len(view.relations))
    config = CONFIG.updated(dim=dim, batch_size=min(batch_size, len(queries)))
    model = BlockBilinear(named(function), view.relations.names.to_list(), len(view.entities), dim, reciprocal=True)
    model.initialise(0, config.init, config.init_scale)
    stepper, products = BlockStepper(model, queries, config), Products(model, config.batch_size)
    take_steps, multiply = Steps(stepper, len(queries) // config.batch_size), timed(products)
    most, operations = tiles() or (None, 0.0)
    actions: list[Action] = [take_steps, multiply, *([timed(most)] if most else [])]
    take_turns(*actions, least=2)  # the first steps of a process are slow
    times = take_turns(*(repeated(action, _TURN) for action in actions), least=least, seconds=seconds)
    speed = operations / statistics.median(times[2]) if most else None
    return Measured(times[0], times[1], speed, len(queries), config.batch_size, stepper.steps)


class Steps:
    """Full batches, epoch after epoch, in the runs that training takes them in. Called, it answers seconds per step."""

    def __init__(self, stepper: BlockStepper, of_epoch: int) -> None:
        self._stepper, self._of_epoch, self._epoch, self._step = stepper, of_epoch, 0, 0

    def __call__(self) -> float:
        most, began = min(STEPS_AT_ONCE, self._of_epoch - self._step), time.perf_counter()
        taken = len(self._stepper.run(self._epoch, self._step, most))
        seconds = time.perf_counter() - began
        self._epoch, self._step = divmod(self._epoch * self._of_epoch + self._step + taken, self._of_epoch)
        return seconds / taken


class Products:
    """Sᵀ = E Qᵀ, dQ = S E and dE = Sᵀ Q, of all questions of a batch, into arrays that are used again."""

    def __init__(self, model: BlockBilinear, batch_size: int) -> None:
        self._entities, self._d_entities = model.entities, torch.empty_like(model.entities)
        self._scores = torch.empty(model.n_entities, batch_size)
        self._q = model.entities[torch.arange(batch_size) % model.n_entities]
        self._dq = torch.empty_like(self._q)

    def __call__(self) -> None:
        entities, scores = self._entities, self._scores
        for some in rows_in_cache(scores):
            product(entities[some], self._q.t(), scores[some])
        product(scores.t(), entities, self._dq)
        product(scores, self._q, self._d_entities)


if __name__ == "__main__":
    run(main)
