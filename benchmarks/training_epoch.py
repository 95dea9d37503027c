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
from eras.training.batches import epoch_order, make_batch
from eras.training.objective import ScoreBuffer
from eras.training.optimiser import Optimiser
from eras.training.step import Gradients, loss_and_gradients

CONFIG = TrainConfig(dim=256, batch_size=512, regulariser="n3", reg_weight=0.05, optimiser="adagrad")


def main(function: str = "complex", config: TrainConfig = CONFIG) -> float:
    graph = graph_or_stand_in("fb15k237", 14_541, 237, 310_116)
    queries = Queries.of(graph.train, len(graph.entities), len(graph.relations))
    names = graph.relations.names.to_list()
    model = BlockBilinear(named(function), names, len(graph.entities), config.dim, reciprocal=True)
    model.initialise(0, config.init, config.init_scale)
    gradients, buffer = (
        Gradients.like(model),
        ScoreBuffer(model.n_entities, config.batch_size, 512, model.device),
    )
    optimiser = Optimiser(model, gradients, config)
    order = epoch_order(len(queries), 0, 0)

    step_seconds = product_seconds = 0.0
    for start in range(0, len(order), config.batch_size):
        picked = order[start : start + config.batch_size]
        began = time.perf_counter()
        batch = make_batch(model, queries, picked)
        loss_and_gradients(model, batch, config, buffer, gradients)
        optimiser.step(0)
        step_seconds += time.perf_counter() - began
        product_seconds += _products(model, len(picked), buffer)
    ratio = step_seconds / product_seconds
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
            "epoch / products": ratio,
        },
    )
    return ratio


def _products(model: BlockBilinear, rows: int, buffer: ScoreBuffer) -> float:
    q = model.entities[:rows].clone()
    scores, dq, d_entities = buffer.scores(rows), torch.empty_like(q), torch.empty_like(model.entities)
    began = time.perf_counter()
    torch.mm(model.entities, q.t(), out=scores)
    torch.mm(scores.t(), model.entities, out=dq)
    torch.mm(scores, q, out=d_entities)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
