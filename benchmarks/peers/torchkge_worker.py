"""TorchKGE: ComplEx, its data loader with Bernoulli negatives, its logistic loss, its LinkPredictionEvaluator.

It has no loss over all entities: each triple is compared with one corrupted triple.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torchkge.data_structures import KnowledgeGraph  # type: ignore[import-not-found]  # only in the peers' environment
from torchkge.evaluation import LinkPredictionEvaluator  # type: ignore[import-not-found]
from torchkge.models import ComplExModel  # type: ignore[import-not-found]
from torchkge.utils import LogisticLoss  # type: ignore[import-not-found]
from torchkge.utils.training import TrainDataLoader, Trainer  # type: ignore[import-not-found]

from benchmarks.peers.talk import Talk, read_triples, some

RANK_BATCHES = 1, 4, 16, 64
"""Triples ranked at a time: the fastest of these is used. A larger one takes gigabytes."""

Triples = npt.NDArray[np.int64]


def main(folder: str, entities: int, relations: int, dim: int, batch: int, lr: float, threads: int) -> None:
    talk = Talk()
    torch.set_num_threads(threads)
    triples = read_triples(folder)
    facts = Graphs(entities, relations, np.concatenate(list(triples.values())))
    model = ComplExModel(dim // 2, entities, relations)
    training = Training(model, facts.of(triples["train"]), batch, lr)
    ranking = Ranking(model, facts, triples["valid"])
    training.run(3)
    talk.answer(steps_of_epoch=len(training.loader))
    while True:
        order = talk.order()
        if order["do"] == "rank":
            talk.answer(**ranking.measure(order["triples"]))
        else:
            talk.answer(**training.run(order["steps"]), triples=len(triples["train"]))


class Graphs:
    """Graphs of TorchKGE over integers, all of which know every fact."""

    def __init__(self, entities: int, relations: int, everything: Triples) -> None:
        self._names = {"ent2ix": {i: i for i in range(entities)}, "rel2ix": {i: i for i in range(relations)}}
        whole = self._graph(everything)
        self._known = {name: getattr(whole, name) for name in ("dict_of_heads", "dict_of_tails", "dict_of_rels")}

    def of(self, triples: Triples) -> Any:
        return self._graph(triples, **self._known)

    def _graph(self, triples: Triples, **known: Any) -> Any:
        heads, relations, tails = (torch.from_numpy(np.ascontiguousarray(part)) for part in triples.T)
        columns = {"heads": heads, "relations": relations, "tails": tails}
        return KnowledgeGraph(kg=columns, **self._names, **known)


class Training:
    def __init__(self, model: Any, graph: Any, batch: int, lr: float) -> None:
        optimiser = torch.optim.Adagrad(model.parameters(), lr=lr)
        self.trainer = Trainer(model, LogisticLoss(), graph, 1, batch, optimiser)
        self.loader = TrainDataLoader(graph, batch_size=batch, sampling_type="bern")

    def run(self, steps: int) -> dict[str, Any]:
        """Its loader draws the negatives of a whole epoch at the start of it: that counts once for each epoch."""
        began = time.perf_counter()
        batches = iter(self.loader)
        drawn = time.perf_counter()
        for _ in range(steps):
            self.trainer.process_batch(next(batches))
        return {"seconds": time.perf_counter() - drawn, "steps": steps, "per_epoch": drawn - began}


class Ranking:
    """Ranks of both sides, raw and filtered, of some of the validation triples."""

    def __init__(self, model: Any, facts: Graphs, valid: Triples) -> None:
        self.model, self.facts, self.valid = model, facts, valid
        self.batch: int | None = None

    def measure(self, count: int) -> dict[str, Any]:
        if self.batch is None:
            self.batch = min(RANK_BATCHES, key=lambda size: self._once(count, size))
        return {"seconds": self._once(count, self.batch), "per_ranking": 0.0, "triples": count, "batch": self.batch}

    def _once(self, count: int, batch: int) -> float:
        evaluator = LinkPredictionEvaluator(self.model, self.facts.of(some(self.valid, count)))
        began = time.perf_counter()
        with torch.no_grad():
            evaluator.evaluate(batch, verbose=False)
        return time.perf_counter() - began


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
