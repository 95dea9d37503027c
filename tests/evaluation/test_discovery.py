"""The best unknown triples, against scoring every one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import eras.evaluation.discovery as discovery
from eras.graph.queries import HEAD, TAIL
from eras.models import to_function
from eras.models.build import build_model
from problems import Problem, problems


def every_triple(n_entities: int, n_relations: int) -> np.ndarray:
    return np.indices((n_entities, n_relations, n_entities)).reshape(3, -1).T


def by_brute_force(model, known, among, relations, top, a, b):
    triples = every_triple(model.n_entities, model.n_relations)
    facts = set(map(tuple, known.tolist()))
    loops = {r for h, r, t in facts if h == t}
    kept = [
        (h, r, t) not in facts and r in relations and (h != t or r in loops) and {h, t} <= among
        for h, r, t in map(tuple, triples.tolist())
    ]
    triples = triples[kept]
    if not len(triples):
        return triples, np.empty(0)
    score = ((model.score(triples, TAIL) + model.score(triples, HEAD)) / 2).double().numpy()
    logit = a[triples[:, 1]] + b[triples[:, 1]] * score
    order = np.argsort(-logit, kind="stable")[:top]
    return triples[order], logit[order]


@given(problems(), st.integers(1, 30), st.booleans(), st.integers(0, 9))
def test_the_result_is_that_of_scoring_all(problem: Problem, top: int, small: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    R = problem.model.n_relations
    a, b = rng.normal(size=R), rng.uniform(0.2, 3, size=R)
    relations = np.arange(R)[rng.random(R) < 0.8] if R > 1 else np.arange(1)
    among = np.sort(rng.permutation(problem.model.n_entities)[: rng.integers(1, problem.model.n_entities + 1)])
    sizes = (2, 3) if small else (discovery.ROWS, discovery.COLUMNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discovery, "ROWS", sizes[0])
        patch.setattr(discovery, "COLUMNS", sizes[1])
        found, logits = discovery.Discovery(problem.model, problem.triples, among, top, a, b).run(relations)
    wanted, exact = by_brute_force(
        problem.model, problem.triples, set(among.tolist()), relations.tolist(), top + 1, a, b
    )
    assert logits == pytest.approx(exact[:top])
    assert len(set(map(tuple, found.tolist()))) == len(found)
    gaps = np.concatenate([[np.inf], exact[:-1] - exact[1:], [np.inf]])[: len(exact) + 1] > 1e-9
    clear = (gaps[:-1] & gaps[1:])[: len(found)]  # no other triple is level with it
    assert found[clear].tolist() == wanted[: len(found)][clear].tolist()


def test_tiles_that_cannot_reach_the_best_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "ROWS", 10)
    monkeypatch.setattr(discovery, "COLUMNS", 10)
    model = build_model(to_function("distmult"), ["r"], 100, 8, reciprocal=False)
    model.initialise(0, "normal", 1.0)
    model.entities *= torch.linspace(3, 0.05, 100)[:, None]
    search = discovery.Discovery(model, np.array([[0, 0, 1]]), np.arange(100), 5, np.zeros(1), np.ones(1))
    search.run(np.array([0]))
    assert search.seen < 50


@pytest.mark.parametrize("name", ["transe", "conve", "ntn"])
def test_models_that_are_no_product(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "ROWS", 5)
    monkeypatch.setattr(discovery, "COLUMNS", 7)
    function = to_function(name)
    model = build_model(function, ["a", "b"], 12, 32, reciprocal=True)
    model.initialise(0, "normal", 0.5)
    known = np.array([[0, 0, 1], [3, 1, 3]])
    a, b = np.array([0.5, -0.5]), np.array([1.0, 2.0])
    _, logits = discovery.Discovery(model, known, np.arange(12), 20, a, b).run(np.arange(2))
    _, exact = by_brute_force(model, known, set(range(12)), [0, 1], 20, a, b)
    assert logits == pytest.approx(exact, abs=1e-4)
