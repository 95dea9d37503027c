from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eras.evaluation import metrics, rank
from eras.graph.planted import Plan, plant
from eras.graph.queries import Queries
from eras.search.estimators.oneshot import OneShot
from eras.search.estimators.supernet import Supernet
from eras.search.space import Space

VIEW = plant(Plan(entities=60, triples_per_relation=60), 0).graph.training_view()


@pytest.fixture
def supernet() -> Supernet:
    rng = np.random.default_rng(0)
    net = Supernet(VIEW, rng.integers(2, size=len(VIEW.relations)), [Space(3, 2).sample(rng)], 12, True)
    net.initialise(0, "normal", 0.5)
    return net


def test_the_reward_on_all_of_validation_is_the_validation_mrr(supernet: Supernet) -> None:
    candidate = supernet.candidates[0]
    judge = OneShot(supernet, VIEW, "mrr", 64)
    asked = judge.draw(10_000, np.random.default_rng(0))
    facts = Queries.of(np.concatenate([VIEW.train, VIEW.valid]), len(VIEW.entities), len(VIEW.relations))
    table = rank(supernet, Queries.of(VIEW.valid, len(VIEW.entities), len(VIEW.relations)), facts)
    assert judge.rewards([candidate], asked).sum() == pytest.approx(metrics(table)["mrr"])


def test_what_a_group_earns_depends_on_its_own_structure_alone(supernet: Supernet) -> None:
    rng = np.random.default_rng(3)
    (a, b), (c, _) = Space(3, 2).sample(rng), Space(3, 2).sample(rng)
    for measure in ("mrr", "loss"):
        judge = OneShot(supernet, VIEW, measure, 64)
        asked = judge.draw(None, rng)
        first, second = judge.rewards([(a, b), (c, b)], asked)
        assert first[1] == pytest.approx(second[1])
        assert first[0] != second[0]
        groups = np.array([judge.by_relation(s, asked)[supernet.groups == g].sum() for g, s in enumerate((a, b))])
        assert groups == pytest.approx(first)


@settings(max_examples=10)
@given(seed=st.integers(0, 999), reciprocal=st.booleans())
def test_the_gradient_with_respect_to_the_structure(seed: int, reciprocal: bool) -> None:
    """Against finite differences: the loss is a function of how much of +r_k each cell holds."""
    rng = np.random.default_rng(seed)
    M, N = 2, 2
    groups = rng.integers(N, size=len(VIEW.relations))
    candidate = Space(M, N).sample(rng)
    net = Supernet(VIEW, groups, [candidate], 4, reciprocal)
    net.initialise(seed, "normal", 0.7)
    judge = OneShot(net, VIEW, "loss", 64)
    asked = judge.draw(30, rng)
    loss, gradient = judge.gradient(candidate, asked)

    weights = torch.zeros(N, M, M, M, dtype=torch.float64)
    for n, structure in enumerate(candidate):
        for i, j, k, sign in structure.terms:
            weights[n, i, j, k] = sign
    weights.requires_grad_()
    entities, relations = net.entities.double().view(-1, M, 2), net.relations.double().view(-1, M, 2)
    row = net.relation_rows(asked.relation, asked.side)
    mixed = weights[groups[asked.relation]]
    head_side = torch.from_numpy(asked.side == 1)[:, None, None, None]
    mixed = torch.where(head_side, mixed.transpose(1, 2), mixed)
    q = torch.einsum("biw,bkw,bijk->bjw", entities[asked.entity], relations[row], mixed)
    log_p = torch.einsum("bjw,ejw->be", q, entities).log_softmax(1)
    answers = np.repeat(np.arange(len(asked)), asked.counts)
    expected = -log_p[answers, asked.answers].mean()
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-4)
    np.testing.assert_allclose(gradient, weights.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_what_breaks_the_constraint_gets_nothing_and_the_rest_is_judged_on_the_same_triples(supernet: Supernet) -> None:
    rng = np.random.default_rng(1)
    candidates = [Space(3, 2).sample(rng) for _ in range(3)]
    for measure in ("mrr", "loss", "train-mrr"):
        judge = OneShot(supernet, VIEW, measure, 64)
        asked = judge.draw(40, rng)
        rewards = judge.rewards([candidates[0], None, *candidates[1:]], asked)
        assert (rewards[1] == 0).all()
        assert (rewards[[0, 2, 3]].sum(1) != 0).all()
        assert (judge.rewards([candidates[0]], asked)[0] == rewards[0]).all()
