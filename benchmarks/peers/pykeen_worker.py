"""PyKEEN: ComplEx, its LCWA training loop with cross entropy, its RankBasedEvaluator, its predict_target.

Inverse triples make it train both sides, as eras does. Training is PyKEEN's own loop, data loader included: a callback
holds it after each stretch of batches and waits for the next order.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import torch
from pykeen.evaluation import RankBasedEvaluator  # type: ignore[import-not-found]  # only in the peers' environment
from pykeen.losses import CrossEntropyLoss  # type: ignore[import-not-found]
from pykeen.models import ComplEx  # type: ignore[import-not-found]
from pykeen.predict import predict_target  # type: ignore[import-not-found]
from pykeen.training import LCWATrainingLoop, TrainingCallback  # type: ignore[import-not-found]
from pykeen.triples import TriplesFactory  # type: ignore[import-not-found]

from benchmarks.peers.questions import answering
from benchmarks.peers.talk import Given, Talk, some

RANK_BATCHES = 8, 32, 128, 512
"""Triples ranked at a time: the fastest of these is used."""


def main(graph: str, dim: int, batch: int, lr: float, threads: int) -> None:
    talk = Talk()
    torch.set_num_threads(threads)
    given = Given.load(graph)
    ids = ({name: i for i, name in enumerate(names)} for names in (given.entities, given.relations))
    factory = TriplesFactory(torch.from_numpy(given.train), *ids, create_inverse_triples=True)
    model = ComplEx(triples_factory=factory, embedding_dim=dim // 2, loss=CrossEntropyLoss(), random_seed=0)
    optimiser = torch.optim.Adagrad(model.get_grad_params(), lr=lr)
    loop = LCWATrainingLoop(
        model=model, triples_factory=factory, optimizer=optimiser, automatic_memory_optimization=False
    )
    ranking, answers = Ranking(model, given), Answers(model, given, factory)
    loop.train(
        factory,
        num_epochs=1_000_000,
        batch_size=batch,
        callbacks=Orders(talk, ranking, answers),
        use_tqdm=False,
        pin_memory=False,
    )


class Ranking:
    """Filtered ranks of both sides, of some of the validation triples."""

    def __init__(self, model: Any, given: Given) -> None:
        self.model, self.given = model, given
        self.batch: int | None = None

    def measure(self, triples: int) -> dict[str, Any]:
        """Whatever its number, PyKEEN first sorts the facts to filter by: that counts once for each ranking.

        What comes first after a wait takes longer. Were that the part to subtract, too little would be left to scale.
        """
        self._once(1, 1)
        if self.batch is None:
            few = min(triples, max(RANK_BATCHES))
            self.batch = min(RANK_BATCHES, key=lambda size: self._once(few, size))
        fixed = self._once(1, 1)
        seconds = self._once(triples, self.batch)
        return {"seconds": seconds - fixed, "per_ranking": fixed, "triples": triples, "batch": self.batch}

    def _once(self, count: int, batch: int) -> float:
        asked = torch.from_numpy(some(self.given.valid, count))
        others = [torch.from_numpy(part) for part in (self.given.train, self.given.valid, self.given.test)]
        began = time.perf_counter()
        RankBasedEvaluator(filtered=True).evaluate(
            self.model, asked, batch_size=batch, additional_filter_triples=others, use_tqdm=False
        )
        return time.perf_counter() - began


class Answers:
    """The best answers to a question but the facts of all splits, which are filtered at once; names in, names out."""

    def __init__(self, model: Any, given: Given, factory: Any) -> None:
        self.model, self.given, self.factory = model, given, factory
        self.known = torch.from_numpy(given.facts)

    def measure(self, questions: int, k: int) -> dict[str, Any]:
        def best(head: int, relation: int) -> object:
            names = {"head": self.given.entities[head], "relation": self.given.relations[relation]}
            ranked = predict_target(self.model, **names, triples_factory=self.factory)  # best first
            return ranked.filter_triples(self.known).df.head(k)

        return answering(best, self.given.train, questions)


class Orders(TrainingCallback):  # type: ignore[misc]  # its base is known only in the peers' environment
    """Between two batches, does what it is told until that is to train on."""

    def __init__(self, talk: Talk, ranking: Ranking, answers: Answers) -> None:
        super().__init__()
        self.talk, self.ranking, self.answers = talk, ranking, answers
        self.steps = 0
        self.seconds: list[float] = []
        self.began = time.perf_counter()

    def post_batch(self, epoch: int, batch: Any, **kwargs: Any) -> None:
        ended = time.perf_counter()
        self.seconds.append(ended - self.began)
        self.began = ended
        if len(self.seconds) < self.steps:
            return
        if self.steps:
            self.talk.answer(seconds=self.seconds, per_epoch=0.0)
        else:
            self.talk.answer(steps_of_epoch=self._steps_of_epoch(len(batch["pairs"])))
        order = self.talk.serve({"rank": self.ranking.measure, "answer": self.answers.measure})
        self.model.train()  # both have set it to evaluation
        self.steps, self.seconds = order["steps"], []
        self.began = time.perf_counter()

    def _steps_of_epoch(self, batch: int) -> int:
        """Its batches are of different pairs of entity and relation, inverse relations included."""
        h, r, t = torch.from_numpy(self.ranking.given.train).T
        pairs: int = sum(torch.unique(torch.stack([entity, r]), dim=1).shape[1] for entity in (h, t))
        return math.ceil(pairs / batch)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
