"""One training epoch beside its limit: the three matrix products that it cannot do without.

Steps and bare products alternate batch by batch, so that both see the same machine. The products use the layout that
training uses, which is the faster of the two (scores entity-major).
"""

from __future__ import annotations

import time

import torch

from benchmarks.common import graph_or_stand_in, publish
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.training import TrainConfig
from eras.training.stepper import BlockStepper

CONFIG = TrainConfig(dim=256, batch_size=512, regulariser="n3", reg_weight=0.05, optimiser="adagrad")


def main(function: str = "complex", config: TrainConfig = CONFIG) -> float:
    graph = graph_or_stand_in("fb15k237", 14_541, 237, 310_116)
    queries = Queries.of(graph.train, len(graph.entities), len(graph.relations))
    names = graph.relations.names.to_list()
    model = BlockBilinear(named(function), names, len(graph.entities), config.dim, reciprocal=True)
    model.initialise(0, config.init, config.init_scale)
    stepper, products = BlockStepper(model, queries, config), Products(model, config.batch_size)

    step_seconds = product_seconds = 0.0
    for step in range(stepper.steps):
        began = time.perf_counter()
        stepper.step(0, step)
        step_seconds += time.perf_counter() - began
        product_seconds += products.seconds(min(config.batch_size, len(queries) - step * config.batch_size))
    flops = 6.0 * len(queries) * model.n_entities * config.dim
    publish(
        "training_epoch",
        {"graph": graph.name, "function": function, "dim": config.dim, "batch": config.batch_size},
        {
            "queries after merging": len(queries),
            "pairs before merging": 2 * len(graph.train),
            "epoch, s": step_seconds,
            "three products alone, s": product_seconds,
            "products, GFLOP/s": flops / product_seconds / 1e9,
            "epoch / products": step_seconds / product_seconds,
        },
    )
    return step_seconds / product_seconds


class Products:
    """Sᵀ = E Qᵀ, dQ = S E and dE = Sᵀ Q, into arrays that are used again."""

    def __init__(self, model: BlockBilinear, batch_size: int) -> None:
        self._entities = model.entities
        self._room = torch.empty(model.n_entities * batch_size)
        self._d_entities = torch.empty_like(model.entities)

    def seconds(self, rows: int) -> float:
        entities, q = self._entities, self._entities[:rows].clone()
        scores, dq = self._room[: len(entities) * rows].view(len(entities), rows), torch.empty_like(q)
        began = time.perf_counter()
        torch.mm(entities, q.t(), out=scores)
        torch.mm(scores.t(), entities, out=dq)
        torch.mm(scores, q, out=self._d_entities)
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
