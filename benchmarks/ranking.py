"""Ranking a validation split beside its limit: the one matrix product of its merged queries."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from benchmarks.common import publish, run
from benchmarks.graphs import graph_or_stand_in
from benchmarks.turns import median_ratio, take_turns, timed
from eras.evaluation import rank
from eras.evaluation.ranking import queries_at_a_time
from eras.graph import Graph
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.models.cache import rows_in_cache
from eras.models.multiply import product
from eras.scoring import named

MEMORY_MB = 512


@dataclass(frozen=True)
class Measured:
    """Seconds of each ranking and of each product, in turn."""

    ranking: list[float]
    product: list[float]
    queries: int

    @property
    def ratio(self) -> float:
        return median_ratio(self.ranking, self.product)


def main(
    graphs: Sequence[str] = ("fb15k237", "humangene"),
    dim: int = 256,
    repeats: int = 3,
    seconds: float = 30.0,
    most: int | None = None,
) -> None:
    """`most` ranks only so many of the validation triples; turns go on until so many `seconds` are over."""
    rows: dict[str, dict[str, Any]] = {}
    for name in graphs:
        graph = graph_or_stand_in(name)
        graph = replace(graph, valid=graph.valid[:most])
        measured = measure(graph, dim, repeats, seconds)
        rows[graph.name] = {
            "triples": len(graph.valid),
            "queries": measured.queries,
            "turns": len(measured.ranking),
            "ranking, s": statistics.median(measured.ranking),
            "product alone, s": statistics.median(measured.product),
            "ranking / product": measured.ratio,
        }
    publish("ranking", {"split": "valid", "dim": dim, "memory_mb": MEMORY_MB, "seconds of each": seconds}, rows)


def measure(graph: Graph, dim: int, repeats: int, seconds: float = 0.0) -> Measured:
    sizes = len(graph.entities), len(graph.relations)
    model = BlockBilinear(named("complex"), graph.relations.names.to_list(), sizes[0], dim, reciprocal=True)
    model.initialise(0, "normal", 0.1)
    asked, known = Queries.of(graph.valid, *sizes), Queries.of(graph.facts, *sizes)
    product = Product(model)
    ranking, alone = take_turns(
        timed(lambda: rank(model, asked, known, memory_mb=MEMORY_MB)),
        timed(lambda: product(len(asked))),
        least=repeats,
        seconds=seconds,
    )
    return Measured(ranking, alone, len(asked))


class Product:
    """E Qᵀ in the blocks that ranking uses, into one array that is used again: new memory would cost time."""

    def __init__(self, model: BlockBilinear) -> None:
        block = queries_at_a_time(model.n_entities, MEMORY_MB)
        self._entities = model.entities
        self._q = model.entities[torch.from_numpy(np.arange(block) % model.n_entities)]
        self._room = torch.empty(model.n_entities * block)

    def __call__(self, n_queries: int) -> None:
        block = len(self._q)
        for start in range(0, n_queries, block):
            q = self._q[: n_queries - start]
            scores = self._room[: len(self._entities) * len(q)].view(len(self._entities), len(q))
            for rows in rows_in_cache(scores):
                product(self._entities[rows], q.t(), scores[rows])


if __name__ == "__main__":
    run(main)
