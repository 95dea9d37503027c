"""On a graph of known patterns: the groups that a search ends with, and what its function is worth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import eras
from eras.graph.planted import Plan, plant
from eras.scoring import ScoringFunction
from eras.scoring.named import named
from eras.search.config import METHODS
from eras.search.estimators.standalone import StandAlone
from eras.search.space import Space
from eras.training import recommend


@pytest.mark.slow
def test_a_search_finds_the_planted_groups_and_a_function_worth_having() -> None:
    """Mean of three seeds: groups agree with the patterns; the function is no worse than any single one, on test.

    The search has no rivals: a hand-designed function that is not clearly beaten would win, and has no groups.
    """
    agreement, found, singles = [], [], {name: [] for name in ("distmult", "complex", "simple", "analogy")}
    for seed in range(3):
        planted = plant(Plan(), seed)
        graph, names = planted.graph, planted.graph.relations.names.to_list()
        settings = {"groups": 4, "grouping": "pattern", "dim": 64, "trials": 60, "trial_epochs": 16, "rivals": False}
        result = eras.search_function(graph, seed=seed, **settings)
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


@pytest.mark.slow
def test_every_searcher_beats_the_median_of_random_structures() -> None:
    """By full trainings on validation: what 30 trials find, or as many epochs spent on a supernet and its finals.

    30 trials of 16 epochs and two full trainings are 600 epochs; a supernet of 60, 12 such trials of what it proposes
    and six full trainings are 612. Hand-designed functions take no part.
    """
    graph = plant(Plan(), 0).graph
    view = graph.training_view()
    training = recommend(view, 4, dim=64, seed=0)
    judge, rng = StandAlone(view, training), np.random.default_rng(0)
    structures = [ScoringFunction(Space(4, 1).sample(rng)) for _ in range(15)]
    by_chance = np.median([trial.mrr for trial in judge.measure(structures, training.epochs)])
    found = {}
    for method, about in METHODS.items():
        alone = about.settings["estimator"] == "stand-alone"
        budget = {"trials": 30, "finalists": 2} if alone else {"epochs": 60, "finalists": 6}
        finals = {"replicas": 1, "promotions": 1, "rivals": False, "trial_epochs": 16}
        found[method] = eras.search_function(graph, method, dim=64, **budget, **finals).function
    mrrs = dict(zip(found, judge.measure(list(found.values()), training.epochs), strict=True))
    print(f"median of random structures {by_chance}; { ({method: trial.mrr for method, trial in mrrs.items()}) }")
    assert all(trial.mrr > by_chance for trial in mrrs.values())
