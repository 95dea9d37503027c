"""The ten best answers to one question, and to 256 at once, beside the product of the entities with the question.

One thread, since a service answers questions side by side. The parameters are random: time does not depend on them.
A calibrated model says in addition how probable each answer is, which takes a pass over all scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.common import publish, run
from benchmarks.graphs import graph_or_stand_in
from benchmarks.threads import one_thread
from benchmarks.turns import Action, take_turns, timed
from eras.evaluation.calibration import Calibration, TopOne
from eras.graph import Graph
from eras.graph.queries import TAIL
from eras.models import BlockBilinear
from eras.scoring import named
from eras.store import Model
from eras.store.calibration import Calibrated
from eras.training import TrainConfig

Times = dict[str, list[float]]


@dataclass(frozen=True, eq=False)
class Asked:
    """Random models of a graph and what they are asked: heads, relations (n,), by id."""

    plain: Model
    calibrated: Model
    heads: np.ndarray[Any, np.dtype[np.int64]]
    relations: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def about(cls, graph: Graph, dim: int, questions: int) -> Asked:
        function, config = named("complex"), TrainConfig(dim=dim)
        scorer = BlockBilinear(function, graph.relations.names.to_list(), len(graph.entities), dim, reciprocal=True)
        scorer.initialise(0, "normal", 0.1)
        plain, calibrated = (Model(scorer, function, graph, config, {}) for _ in range(2))
        calibrated.calibrated = _calibration(len(graph.relations))
        chosen = graph.train[np.random.default_rng(0).integers(len(graph.train), size=questions)].astype(np.int64)
        return cls(plain, calibrated, chosen[:, 0], chosen[:, 1])

    def actions(self, batch: int, k: int) -> dict[str, Action]:
        """Each call of an action asks the next `batch` questions."""
        return {
            "predict": timed(_next(lambda at: _predict(self.plain, *self._names(at), k), self._batches(batch))),
            "calibrated": timed(_next(lambda at: _predict(self.calibrated, *self._names(at), k), self._batches(batch))),
            "product": self._product(batch),
        }

    def _batches(self, batch: int) -> Iterator[slice]:
        while True:
            yield from (slice(at, at + batch) for at in range(0, len(self.heads) - batch + 1, batch))

    def _names(self, at: slice) -> tuple[list[str], list[str]]:
        graph = self.plain.graph
        return graph.entities.names.gather(self.heads[at]).to_list(), graph.relations.names.gather(
            self.relations[at]
        ).to_list()

    def _product(self, batch: int) -> Action:
        scorer = self.plain.scorer
        assert isinstance(scorer, BlockBilinear)
        q = scorer.queries(self.heads[:batch], self.relations[:batch], np.full(batch, TAIL)).t().contiguous()
        room = torch.empty(scorer.n_entities, batch)
        if batch == 1:
            return timed(lambda: torch.mv(scorer.entities, q[:, 0], out=room[:, 0]))
        return timed(lambda: torch.mm(scorer.entities, q, out=room))


def main(
    graphs: Sequence[str] = ("fb15k237", "humangene"),
    dim: int = 256,
    k: int = 10,
    questions: int = 200,
    batch: int = 256,
    batches: int = 7,
) -> None:
    rows: dict[str, dict[str, Any]] = {}
    with one_thread():
        for name in graphs:
            graph = graph_or_stand_in(name)
            asked = Asked.about(graph, dim, max(questions, batch))
            single, many = measure(asked, 1, k, questions), measure(asked, batch, k, batches)
            product = float(np.median(single["product"])), float(np.median(many["product"]))
            for kind in single:
                middle, together = float(np.median(single[kind])), float(np.median(many[kind]))
                rows[f"{graph.name}, {kind}"] = {
                    "one, ms (median)": 1e3 * middle,
                    "95th percentile, ms": 1e3 * float(np.quantile(single[kind], 0.95)),
                    "/ product": middle / product[0],
                    f"{batch} at once, ms each": 1e3 * together / batch,
                    "/ their product": together / product[1],
                }
    publish("topk", {"dim": dim, "k": k, "questions": questions, "batches": batches, "threads": 1}, rows)


def measure(asked: Asked, batch: int, k: int, turns: int) -> Times:
    """Seconds of each turn, for batches of questions."""
    actions = asked.actions(batch, k)
    take_turns(*actions.values(), least=2)  # loads what the first answer needs
    return dict(zip(actions, take_turns(*actions.values(), least=turns), strict=True))


def _next(action: Callable[[slice], object], batches: Iterator[slice]) -> Callable[[], object]:
    return lambda: action(next(batches))


def _calibration(n_relations: int) -> Calibrated:
    """Any will do: random scores tell nothing that one could be fitted to."""
    of_facts = Calibration(np.zeros(n_relations), np.ones(n_relations))
    return Calibrated(of_facts, TopOne(0.0, (1.0, 1.0)), {})


def _predict(model: Model, heads: list[str], relations: list[str], k: int) -> object:
    if len(heads) == 1:
        return model.predict(head=heads[0], relation=relations[0], k=k)
    return model.predict(head=heads, relation=relations, k=k)


if __name__ == "__main__":
    run(main)
