"""On a graph of known patterns: the groups that a search ends with, and what its function is worth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import eras
from eras.graph.planted import Plan, plant
from eras.scoring import ScoringFunction
from eras.scoring.named import named


@pytest.mark.slow
def test_a_search_finds_the_planted_groups_and_a_function_worth_having() -> None:
    """Mean of three seeds: groups agree with the patterns; the function is no worse than any single one, on test."""
    agreement, found, singles = [], [], {name: [] for name in ("distmult", "complex", "simple", "analogy")}
    for seed in range(3):
        planted = plant(Plan(), seed)
        graph, names = planted.graph, planted.graph.relations.names.to_list()
        result = eras.search_function(graph, groups=4, grouping="pattern", trials=60, trial_epochs=16, seed=seed)
        groups = [result.function.group_of(name) for name in names]
        agreement.append(adjusted_rand_score([planted.patterns[name] for name in names], groups))

        def test_mrr(function: ScoringFunction, graph: eras.Graph = graph, seed: int = seed) -> float:
            model = eras.train(graph, function, dim=64, epochs=60, seed=seed, threads=1)
            return float(model.metrics["test"]["mrr"])

        found.append(test_mrr(result.function))
        for name, mrrs in singles.items():
            mrrs.append(test_mrr(named(name)))
    means = {name: np.mean(mrrs) for name, mrrs in singles.items()}
    print(f"agreement {agreement}; test MRR found {found}, {singles}")
    assert np.mean(agreement) >= 0.8
    assert np.mean(found) > means["distmult"] + 0.05
    assert np.mean(found) >= max(means.values()) - 0.005
