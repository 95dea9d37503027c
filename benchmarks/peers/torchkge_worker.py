"""TorchKGE: ComplEx, its data loader with Bernoulli negatives, its logistic loss, its LinkPredictionEvaluator, its
EntityInference.

It has no loss over all entities: each triple is compared with one corrupted triple.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from torchkge.data_structures import KnowledgeGraph  # type: ignore[import-not-found]  # only in the peers' environment
from torchkge.evaluation import LinkPredictionEvaluator  # type: ignore[import-not-found]
from torchkge.inference import EntityInference  # type: ignore[import-not-found]
from torchkge.models import ComplExModel  # type: ignore[import-not-found]
from torchkge.utils import LogisticLoss  # type: ignore[import-not-found]
from torchkge.utils.training import TrainDataLoader, Trainer  # type: ignore[import-not-found]

from benchmarks.peers.questions import answering
from benchmarks.peers.talk import Given, Talk, Triples, some
from benchmarks.turns import timed

RANK_BATCHES = 1, 4, 16, 64
"""Triples ranked at a time: the fastest of these is used. A larger one takes gigabytes."""


def main(graph: str, dim: int, batch: int, lr: float, threads: int) -> None:
    talk = Talk()
    torch.set_num_threads(threads)
    given = Given.load(graph)
    graphs = Graphs(given)
    model = ComplExModel(dim // 2, len(given.entities), len(given.relations))
    training = Training(model, graphs.of(given.train), batch, lr)
    ranking = Ranking(model, graphs, given.valid)
    answers = Answers(model, graphs, given.train)
    talk.answer(steps_of_epoch=len(training.loader))
    talk.serve({"train": training.run, "rank": ranking.measure, "answer": answers.measure})


class Graphs:
    """Graphs of TorchKGE, all of which know every fact."""

    def __init__(self, given: Given) -> None:
        names = {"ent2ix": given.entities, "rel2ix": given.relations}
        self._ids = {of: {name: i for i, name in enumerate(known)} for of, known in names.items()}
        whole = self._graph(given.facts)
        self.known = {name: getattr(whole, name) for name in ("dict_of_heads", "dict_of_tails", "dict_of_rels")}

    def of(self, triples: Triples) -> Any:
        return self._graph(triples, **self.known)

    def _graph(self, triples: Triples, **known: Any) -> Any:
        heads, relations, tails = (torch.from_numpy(np.ascontiguousarray(part)) for part in triples.T)
        columns = {"heads": heads, "relations": relations, "tails": tails}
        return KnowledgeGraph(kg=columns, **self._ids, **known)


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
        step = timed(lambda: self.trainer.process_batch(next(batches)))
        return {"seconds": [step() for _ in range(steps)], "per_epoch": drawn - began}


class Ranking:
    """Ranks of both sides, raw and filtered, of some of the validation triples."""

    def __init__(self, model: Any, graphs: Graphs, valid: Triples) -> None:
        self.model, self.graphs, self.valid = model, graphs, valid
        self.batch: int | None = None

    def measure(self, triples: int) -> dict[str, Any]:
        if self.batch is None:
            self.batch = min(RANK_BATCHES, key=lambda size: self._once(triples, size))
        return {"seconds": self._once(triples, self.batch), "per_ranking": 0.0, "triples": triples, "batch": self.batch}

    def _once(self, count: int, batch: int) -> float:
        evaluator = LinkPredictionEvaluator(self.model, self.graphs.of(some(self.valid, count)))
        began = time.perf_counter()
        with torch.no_grad():
            evaluator.evaluate(batch, verbose=False)
        return time.perf_counter() - began


class Answers:
    """The best answers to a question but those of its dictionary; ids in, ids out."""

    def __init__(self, model: Any, graphs: Graphs, train: Triples) -> None:
        self.model, self.train = model, train
        self.known = graphs.known["dict_of_tails"]

    def measure(self, questions: int, k: int) -> dict[str, Any]:
        def best(head: int, relation: int) -> object:
            asked = EntityInference(
                self.model, torch.tensor([head]), torch.tensor([relation]), top_k=k, dictionary=self.known
            )
            # It stores the scores of a batch at [first, end] where [first:end] is meant, which raises an error. With
            # a dimension more, that is the place of k scores.
            asked.scores = torch.empty(1, 2, k)
            with torch.no_grad():
                asked.evaluate(1, verbose=False)
            return asked.predictions

        return answering(best, self.train, questions)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
