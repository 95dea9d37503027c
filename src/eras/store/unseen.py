"""An entity that came after training: its row is fitted to its facts, all else is held fixed.

The row starts at the mean of the entities that stand where it stands: under the same relation, on the same side. From
there it is moved to make its facts likely, by the log-loss of both questions of each fact over all entities, and is
held near its start, since a few facts do not say much.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from eras.graph import Graph
from eras.graph.growing import with_facts_of
from eras.graph.queries import Queries
from eras.models import BlockBilinear, EmbeddingModel, Function, KnowledgeModel, build_model

STEPS = 50
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
        if key == "entities":
            table[others] = model.tables[key]
        else:
            table.copy_(model.tables[key])
    own = grown.train[(grown.train[:, [0, 2]] == position).any(1)]
    larger.tables["entities"][position] = _fitted(larger, grown, own, position)
    return larger, grown


def _fitted(model: KnowledgeModel, graph: Graph, facts: np.ndarray, position: int) -> Tensor:
    """The new row, (dim,)."""
    asked = Queries.of(facts, len(graph.entities), len(graph.relations))
    answers = asked.answers_of(np.arange(len(asked)))
    entity, row = torch.from_numpy(answers.entity), torch.from_numpy(answers.row)
    table = model.tables["entities"].clone()
    start = torch.stack([table[peers].mean(0) for peers in _peers(graph, facts, position)]).mean(0)
    scale = table.square().sum(1).mean().clamp(min=1e-12)
    vector = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([vector], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        with _entities(model, torch.cat([table[:position], vector[None], table[position + 1 :]])):
            scores = _scores(model, asked)
        unlikely = (scores.logsumexp(0)[row] - scores[entity, row]).mean()
        total = unlikely + HOLD * (vector - start).square().sum() / scale
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return vector.detach()


def _peers(graph: Graph, facts: np.ndarray, position: int) -> Iterator[Tensor]:
    """For each fact, the other entities at the place that the new one takes in it; all where there are none."""
    others = graph.train[(graph.train[:, [0, 2]] != position).all(1)]
    for head, relation, _ in facts:
        place = others[others[:, 1] == relation][:, 0 if head == position else 2]
        found = np.unique(place) if len(place) else np.delete(np.arange(len(graph.entities)), position)
        yield torch.from_numpy(found.astype(np.int64))


def _scores(model: KnowledgeModel, asked: Queries) -> Tensor:
    """(n_entities, questions), with a gradient."""
    if isinstance(model, EmbeddingModel):
        return model.compare(model.encode(asked.entity, asked.relation, asked.side), model.candidates())
    return model.scores(asked.entity, asked.relation, asked.side)


@contextlib.contextmanager
def _entities(model: KnowledgeModel, table: Tensor) -> Iterator[None]:
    """The model with another entity table, through which gradients flow, for as long as this lasts."""
    if isinstance(model, EmbeddingModel):
        parameter = model._parameters.pop("entities")
        object.__setattr__(model, "entities", table)
        try:
            yield
        finally:
            object.__delattr__(model, "entities")
            model._parameters["entities"] = parameter
        return
    assert isinstance(model, BlockBilinear)
    before, model.entities = model.entities, table
    try:
        yield
    finally:
        model.entities = before
