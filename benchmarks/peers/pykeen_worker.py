"""PyKEEN: ComplEx, its LCWA training loop with cross entropy, its RankBasedEvaluator.

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
from pykeen.training import LCWATrainingLoop, TrainingCallback  # type: ignore[import-not-found]
from pykeen.triples import CoreTriplesFactory  # type: ignore[import-not-found]

from benchmarks.peers.talk import Talk, read_triples, some

WARM_UP = 3
"""Batches before the first order."""

RANK_BATCHES = 8, 32, 128, 512
"""Triples ranked at a time: the fastest of these is used."""


def main(folder: str, entities: int, relations: int, dim: int, batch: int, lr: float, threads: int) -> None:
    talk = Talk()
    torch.set_num_threads(threads)
    triples = {split: torch.from_numpy(part) for split, part in read_triples(folder).items()}
    factory = CoreTriplesFactory(
        triples["train"], num_entities=entities, num_relations=relations, create_inverse_triples=True
    )
    model = ComplEx(triples_factory=factory, embedding_dim=dim // 2, loss=CrossEntropyLoss(), random_seed=0)
    optimiser = torch.optim.Adagrad(model.get_grad_params(), lr=lr)
    loop = LCWATrainingLoop(
        model=model, triples_factory=factory, optimizer=optimiser, automatic_memory_optimization=False
    )
    ranking = Ranking(model, triples)
    loop.train(
        factory,
        num_epochs=1_000_000,
        batch_size=batch,
        callbacks=Orders(talk, ranking, len(triples["train"])),
        use_tqdm=False,
        pin_memory=False,
    )


class Ranking:
    """Filtered ranks of both sides, of some of the validation triples."""

    def __init__(self, model: Any, triples: dict[str, torch.Tensor]) -> None:
        self.model, self.triples = model, triples
        self.batch: int | None = None

    def measure(self, count: int) -> dict[str, Any]:
        """Whatever its number, PyKEEN first sorts the facts to filter by: that counts once for each ranking."""
        if self.batch is None:
            few = min(count, max(RANK_BATCHES))
            self._once(1, 1)
            self.batch = min(RANK_BATCHES, key=lambda size: self._once(few, size))
        fixed = self._once(1, 1)
        seconds = self._once(count, self.batch)
        return {"seconds": seconds - fixed, "per_ranking": fixed, "triples": count, "batch": self.batch}

    def _once(self, count: int, batch: int) -> float:
        asked = torch.from_numpy(some(self.triples["valid"].numpy(), count))
        others = [self.triples["train"], self.triples["valid"], self.triples["test"]]
        began = time.perf_counter()
        RankBasedEvaluator(filtered=True).evaluate(
            self.model, asked, batch_size=batch, additional_filter_triples=others, use_tqdm=False
        )
        return time.perf_counter() - began


class Orders(TrainingCallback):  # type: ignore[misc]  # its base is known only in the peers' environment
    """Between two batches, does what it is told until that is to train on."""

    def __init__(self, talk: Talk, ranking: Ranking, n_triples: int) -> None:
        super().__init__()
        self.talk, self.ranking, self.n_triples = talk, ranking, n_triples
        self.left, self.steps, self.began = WARM_UP, 0, 0.0

    def post_batch(self, epoch: int, batch: Any, **kwargs: Any) -> None:
        self.left -= 1
        if self.left:
            return
        if self.steps:
            seconds = time.perf_counter() - self.began
            self.talk.answer(seconds=seconds, steps=self.steps, per_epoch=0.0, triples=self.n_triples)
        else:
            self.talk.answer(steps_of_epoch=self._steps_of_epoch(len(batch["pairs"])))
        while (order := self.talk.order())["do"] == "rank":
            measured = self.ranking.measure(order["triples"])
            self.model.train()
            self.talk.answer(**measured)
        self.left = self.steps = order["steps"]
        self.began = time.perf_counter()

    def _steps_of_epoch(self, batch: int) -> int:
        """Its batches are of different pairs of entity and relation, inverse relations included."""
        h, r, t = self.ranking.triples["train"].T
        pairs: int = sum(torch.unique(torch.stack([entity, r]), dim=1).shape[1] for entity in (h, t))
        return math.ceil(pairs / batch)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
