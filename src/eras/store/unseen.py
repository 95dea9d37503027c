"""An entity that came after training: its row is fitted to its facts, all else is held fixed.

The row starts at the mean of the entities that stand where it stands: under the same relation, on the same side. From
there it is moved to make its facts likely, by the log-loss of both questions of each fact over all entities, and is
held near its start, since a few facts do not say much.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.evaluation.ranking import queries_at_a_time
from eras.graph import Graph
from eras.graph.growing import with_facts_of
from eras.graph.queries import Queries
from eras.models import BlockBilinear, EmbeddingModel, Function, KnowledgeModel, build_model

STEPS = 50
MEMORY_MB = 256
"""For the scores of a block of questions."""

HOLD = 0.3
"""Weight of the squared distance from the start, in units of the entities' mean squared length."""


def with_entity(
    model: KnowledgeModel, function: Function, graph: Graph, name: str, facts: Sequence[tuple[str, str, str]]
) -> tuple[KnowledgeModel, Graph]:
    """A model and a graph that have the entity; those given stay as they are."""
    grown, position = with_facts_of(graph, name, facts)
    larger = build_model(
        function,
        graph.relations.names.to_list(),
        len(grown.entities),
        model.dim,
        reciprocal=model.reciprocal,
        device=str(model.device),
    )
    others = torch.arange(len(grown.entities), device=model.device) != position
    for key, table in larger.tables.items():
        if key in model.per_entity:
            table[others], table[position] = model.tables[key], model.tables[key].mean(0)
        else:
            table.copy_(model.tables[key])
    own = grown.train[(grown.train[:, [0, 2]] == position).any(1)]
    larger.tables["entities"][position] = _fitted(larger, grown, own, position)
    return larger, grown


def _fitted(model: KnowledgeModel, graph: Graph, facts: np.ndarray, position: int) -> Tensor:
    """The new row, (dim,)."""
    asked = Queries.of(facts, len(graph.entities), len(graph.relations))
    table = model.tables["entities"].clone()
    start = _mean_of_peers(graph, facts, position, table)
    scale = table.square().sum(1).mean().clamp(min=1e-12)
    vector = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([vector], max_iter=STEPS, line_search_fn="strong_wolfe")
    block = queries_at_a_time(len(table), MEMORY_MB)
    blocks = [np.arange(i, min(i + block, len(asked))) for i in range(0, len(asked), block)]

    def loss() -> Tensor:
        optimiser.zero_grad()
        total = HOLD * (vector - start).square().sum() / scale
        total.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        for picked in blocks:
            answers = asked.answers_of(picked)
            entity, row = torch.from_numpy(answers.entity), torch.from_numpy(answers.row)
            with _entities(model, torch.cat([table[:position], vector[None], table[position + 1 :]])):
                scores = _scores(model, asked, picked)
            part = (scores.logsumexp(0)[row] - scores[entity, row]).sum() / len(asked.answers)
            part.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            total = total.detach() + part.detach()
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return vector.detach()


def _mean_of_peers(graph: Graph, facts: np.ndarray, position: int, table: Tensor) -> Tensor:
    """The mean over the facts of the other entities at the place that the new one takes; of all if there are none."""
    others = graph.train[(graph.train[:, [0, 2]] != position).all(1)]
    total = torch.zeros_like(table[0])
    places, counts = np.unique(np.stack([facts[:, 1], facts[:, 0] == position], 1), axis=0, return_counts=True)
    for (relation, as_head), count in zip(places.tolist(), counts.tolist(), strict=True):
        peers = np.unique(others[others[:, 1] == relation][:, 0 if as_head else 2])
        if not len(peers):
            peers = np.delete(np.arange(len(table)), position)
        total += count * table[torch.from_numpy(peers.astype(np.int64))].mean(0)
    return total / len(facts)


def _scores(model: KnowledgeModel, asked: Queries, picked: npt.NDArray[np.int64]) -> Tensor:
    """(n_entities, questions), with a gradient."""
    questions = asked.entity[picked], asked.relation[picked], asked.side[picked]
    if isinstance(model, EmbeddingModel):
        return model.compare(model.encode(*questions), model.candidates())
    assert isinstance(model, BlockBilinear)
    return model.entities @ model.queries(*questions).t()  # `scores` writes in place, through which no gradient flows


@contextlib.contextmanager
def _entities(model: KnowledgeModel, table: Tensor) -> Iterator[None]:
    """The model with another entity table, through which gradients flow, for as long as this lasts."""
    if isinstance(model, EmbeddingModel):
        parameter = model._parameters.pop("entities")
        object.__setattr__(model, "entities", table)
        model.requires_grad_(False)
        try:
            yield
        finally:
            model.requires_grad_(True)
            object.__delattr__(model, "entities")
            model._parameters["entities"] = parameter
        return
    assert isinstance(model, BlockBilinear)
    before, model.entities = model.entities, table
    try:
        yield
    finally:
        model.entities = before
