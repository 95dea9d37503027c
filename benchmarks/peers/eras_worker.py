"""eras: ComplEx, the steps of its trainer, its filtered ranks, `Model.predict`; asked as the peers are."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import polars as pl
import torch

from benchmarks.peers.questions import answering
from benchmarks.peers.talk import Given, Talk, some
from benchmarks.turns import full_batches, timed
from eras.evaluation import rank
from eras.graph import Graph, Vocabulary
from eras.graph.model import Triples
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.store import Model
from eras.training import TrainConfig
from eras.training.stepper import BlockStepper


def main(graph: str, dim: int, batch: int, lr: float, threads: int, precision: str = "float32") -> None:
    talk = Talk()
    torch.set_num_threads(threads)
    config = TrainConfig(dim=dim, batch_size=batch, lr=lr, regulariser="none").updated(precision=precision)
    eras = Eras(Given.load(graph), config)
    talk.answer(steps_of_epoch=eras.stepper.steps)
    talk.serve({"train": eras.train, "rank": eras.rank, "answer": eras.answer})


class Eras:
    def __init__(self, given: Given, config: TrainConfig) -> None:
        self.entities, self.relations = given.entities, given.relations
        self.graph, function = _graph(given), named("complex")
        scorer = BlockBilinear(function, given.relations, len(given.entities), config.dim, reciprocal=True)
        scorer.initialise(0, config.init, config.init_scale)
        queries = self._queries(self.graph.train)
        self.stepper = BlockStepper(scorer, queries, config)
        self.places = full_batches(len(queries) // config.batch_size)
        self.model = Model(scorer, function, self.graph, config, {})

    def train(self, steps: int) -> dict[str, Any]:
        step = timed(lambda: self.stepper.step(*next(self.places)))
        return {"seconds": [step() for _ in range(steps)], "per_epoch": 0.0}

    def rank(self, triples: int) -> dict[str, Any]:
        """Sorting the facts to filter by counts, as it does for PyKEEN."""
        asked = some(self.graph.valid, triples)
        began = time.perf_counter()
        rank(self.model.scorer, self._queries(asked), self._queries(self.graph.facts))
        return {"seconds": time.perf_counter() - began, "per_ranking": 0.0, "triples": triples, "batch": "all"}

    def answer(self, questions: int, k: int) -> dict[str, Any]:
        def best(head: int, relation: int) -> object:
            return self.model.predict(head=self.entities[head], relation=self.relations[relation], k=k)

        return answering(best, self.graph.train, questions)

    def _queries(self, triples: Triples) -> Queries:
        return Queries.of(triples, len(self.entities), len(self.relations))


def _graph(given: Given) -> Graph:
    entities, relations = pl.Series(given.entities), pl.Series(given.relations)
    train, valid, test = (part.astype(np.int32) for part in (given.train, given.valid, given.test))
    return Graph("given", Vocabulary("entity", entities), Vocabulary("relation", relations), train, valid, test)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
