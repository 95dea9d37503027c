"""Ranking a validation split beside its limit: the one matrix product of its merged queries."""

from __future__ import annotations

import time

import numpy as np
import torch

from benchmarks.common import graph_or_stand_in, publish
from eras.evaluation import rank
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named


def main(dim: int = 256) -> None:
    graph = graph_or_stand_in("fb15k237", 14_541, 237, 310_116)
    sizes = len(graph.entities), len(graph.relations)
    names = graph.relations.names.to_list()
    model = BlockBilinear(named("complex"), names, sizes[0], dim, reciprocal=True)
    model.initialise(0, "normal", 0.1)
    asked = Queries.of(graph.valid, *sizes)
    known = Queries.of(np.concatenate([graph.train, graph.valid, graph.test]), *sizes)
    rank_seconds, product_seconds = [], []
    for _ in range(3):
        began = time.perf_counter()
        rank(model, asked, known)
        rank_seconds.append(time.perf_counter() - began)
        product_seconds.append(_product(model, len(asked)))
    seconds, product = float(np.median(rank_seconds)), float(np.median(product_seconds))
    publish(
        "ranking",
        {"graph": graph.name, "split": "valid", "dim": dim},
        {
            "triples": len(graph.valid),
            "queries after merging": len(asked),
            "ranking, s": seconds,
            "product alone, s": product,
            "ranking / product": seconds / product,
        },
    )


def _product(model: BlockBilinear, n_queries: int, block: int = 4096) -> float:
    q = model.entities[torch.arange(min(block, n_queries)) % model.n_entities]
    began = time.perf_counter()
    for start in range(0, n_queries, block):
        _ = model.entities @ q[: n_queries - start].t()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
