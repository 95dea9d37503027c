"""Labelled triples put to a model: true or false, and how sure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eras.errors import DataError
from eras.evaluation.calibration import Bools, Calibration, Doubles, Method, TopOne, quality, reliability, sigmoid
from eras.evaluation.classification import Thresholds, judge, judge_relations
from eras.evaluation.negatives import with_negatives
from eras.evaluation.top_one import watch
from eras.graph import Graph
from eras.graph.labelled import Labelled, read_labelled
from eras.graph.queries import Queries
from eras.models.facts import fact_scores
from eras.store.calibration import Calibrated

if TYPE_CHECKING:
    from eras.store.model import Model

Split = Literal["valid", "test"]


@dataclass(frozen=True, eq=False)
class Source:
    """Where labelled triples come from: a file, or a split with false triples made for it."""

    triples: Labelled
    about: str

    @classmethod
    def of(
        cls, graph: Graph, split: Split, file: str | Path | None = None, seed: int = 0, skip_unknown: bool = False
    ) -> Source:
        if file is not None:
            labelled = read_labelled(file, graph.entities, graph.relations, skip_unknown=skip_unknown)
            skipped = f", {labelled.skipped:,} with unknown names left out" if labelled.skipped else ""
            return cls(labelled, f"{len(labelled):,} labelled triples of {Path(file).name}{skipped}")
        true = graph.split(split)
        if not len(true):
            raise DataError(f"the graph {graph.name!r} has no {split} triples: give labelled ones, --{split} FILE")
        # Validation must not learn from test where entities can stand; that a made triple is false, all facts say.
        seen = graph.facts if split == "test" else np.concatenate([graph.train, graph.valid])
        labelled = with_negatives(true, seen, graph.facts, len(graph.entities), seed + (split == "test"))
        skipped = f", {labelled.skipped:,} left out since no false partner exists" if labelled.skipped else ""
        made = len(labelled) // 2
        return cls(labelled, f"{made:,} {split} triples and {made:,} made false by corruption, seed {seed}{skipped}")


@dataclass(frozen=True, eq=False)
class Classification:
    """Figures on the test triples; relations: the same for each, by name; about: what was judged."""

    metrics: dict[str, Any]
    relations: list[dict[str, Any]]
    about: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {**self.metrics, "about": self.about, "relations": self.relations}


def classify(
    model: Model, valid: str | Path | None, test: str | Path | None, seed: int, skip_unknown: bool
) -> Classification:
    graph = model.graph
    sources = {
        "valid": Source.of(graph, "valid", valid, seed, skip_unknown),
        "test": Source.of(graph, "test", test, seed, skip_unknown),
    }
    scores = {split: fact_scores(model.scorer, source.triples.triples) for split, source in sources.items()}
    relation = {split: source.triples.triples[:, 1] for split, source in sources.items()}
    truth = {split: source.triples.truth for split, source in sources.items()}
    thresholds = Thresholds.fit(scores["valid"], relation["valid"], truth["valid"], len(graph.relations))
    asked = np.unique(relation["test"])
    rows = judge_relations(thresholds, scores["test"], relation["test"], truth["test"])
    return Classification(
        judge(thresholds, scores["test"], relation["test"], truth["test"]),
        [{**row, "relation": graph.relations.name(row["relation"])} for row in rows],
        {
            **{split: source.about for split, source in sources.items()},
            "pooled_threshold": thresholds.pooled,
            "pooled_relations": [graph.relations.name(r) for r in asked[~thresholds.own[asked]]],
        },
    )


def calibrate(model: Model, valid: str | Path | None, method: Method, seed: int, skip_unknown: bool) -> Calibrated:
    graph = model.graph
    source = Source.of(graph, "valid", valid, seed, skip_unknown)
    labelled = source.triples
    scores = fact_scores(model.scorer, labelled.triples)
    of_facts = Calibration.fit(scores, labelled.triples[:, 1], labelled.truth, len(graph.relations), method)
    return Calibrated(
        of_facts, TopOne.fit(*_first_of_lists(model, "valid")), {"fitted_on": source.about, "method": method}
    )


def _first_of_lists(model: Model, split: Split) -> tuple[Doubles, Bools]:
    graph = model.graph
    asked = Queries.of(graph.split(split), len(graph.entities), len(graph.relations))
    return watch(model.ranker, asked, model.known, model.memory_mb)


def measure_calibration(model: Model, calibrated: Calibrated, source: Source) -> dict[str, Any]:
    """How good probabilities of test triples are, before (the sigmoid of the score) and after; and of first entries."""
    labelled = source.triples
    scores = fact_scores(model.scorer, labelled.triples)
    before = sigmoid(scores.astype(np.float64))
    after = calibrated.of_facts.probabilities(scores, labelled.triples[:, 1])
    found: dict[str, Any] = {
        "judged_on": source.about,
        "before": {**quality(before, labelled.truth), "bins": reliability(before, labelled.truth)},
        "after": {**quality(after, labelled.truth), "bins": reliability(after, labelled.truth)},
    }
    if len(model.graph.test):
        signs, right = _first_of_lists(model, "test")
        probability = calibrated.of_first.probabilities(signs)
        found["first"] = {
            "questions": len(right),
            "right": float(right.mean()),
            "probability": float(probability.mean()),
            **quality(probability, right),
            "bins": reliability(probability, right),
        }
    return found
