"""Predictions are those of the definition, number by number: mask what is known, sort, name."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

import eras
from eras.evaluation.calibration import Calibration, TopOne
from eras.evaluation.top_one import signs_of
from eras.graph.queries import HEAD, TAIL
from eras.models import build_model, to_function
from eras.models.facts import fact_scores
from eras.store.calibration import Calibrated

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {"head": RNG.integers(300, size=2000), "relation": RNG.integers(4, size=2000), "tail": RNG.integers(300, size=2000)}
).select(pl.all().cast(pl.String))


@pytest.fixture(scope="module")
def model() -> eras.Model:
    """Coordinates of −1, 0 and 1: most scores occur many times."""
    graph, function = eras.load_graph(FRAME), to_function("complex")
    scorer = build_model(function, graph.relations.names.to_list(), len(graph.entities), 8, reciprocal=True)
    for table in scorer.tables.values():
        table.copy_(torch.from_numpy(RNG.integers(-1, 2, size=tuple(table.shape))))
    model = eras.Model(scorer, function, graph, eras.TrainConfig(dim=8), {})
    n = len(graph.relations)
    model.calibrated = Calibrated(
        Calibration(np.linspace(-2, 0, n), np.linspace(0.5, 1, n), {}), TopOne(-0.5, (0.7, 0.2)), {}
    )
    return model


def by_definition(model: eras.Model, asked: str, entity: str, relation: str, k: int, new: bool) -> list[dict]:
    graph, side = model.graph, TAIL if asked == "tail" else HEAD
    given, kind = graph.entities.id(entity), graph.relations.id(relation)
    scores = model.scorer.scores(np.array([given]), np.array([kind]), np.array([side]))
    here, there = (0, 2) if asked == "tail" else (2, 0)
    if new:
        for fact in graph.facts[(graph.facts[:, here] == given) & (graph.facts[:, 1] == kind)]:
            scores[fact[there], 0] = -torch.inf
    right = model.calibrated.of_first.probabilities(signs_of(scores.clone()))[0]
    value, answer = scores.t().topk(k, dim=1)
    rows = []
    for place, (score, number) in enumerate(zip(value[0].tolist(), answer[0].tolist(), strict=True)):
        triple = np.array([[given, kind, number] if asked == "tail" else [number, kind, given]])
        probability = model.calibrated.of_facts.probabilities(fact_scores(model.scorer, triple), triple[:, 1])[0]
        row = {
            "head": graph.entities.name(triple[0, 0]),
            "relation": relation,
            "tail": graph.entities.name(triple[0, 2]),
            "score": score,
            "probability": probability,
        }
        rows.append({**row, "first_is_right": right if place == 0 else None} if new else row)
    return rows


@pytest.mark.parametrize("asked", ["head", "tail"])
@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_every_number_and_every_tie(model: eras.Model, asked: str, new: bool, k: int) -> None:
    for entity in ("0", "17", "299"):
        question = {"head" if asked == "tail" else "tail": entity, "relation": "2"}
        found = model.predict(**question, k=k, exclude_known=new, output="list")
        assert found == by_definition(model, asked, entity, "2", k, new)
