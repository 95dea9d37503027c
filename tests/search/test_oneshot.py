from __future__ import annotations

import numpy as np
import pytest

from eras.evaluation import validator
from eras.graph.planted import Plan, plant
from eras.search.oneshot import OneShot
from eras.search.space import Space
from eras.search.supernet import Supernet

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
    assert judge.rewards([candidate], asked)[0] == pytest.approx(validator(VIEW, 64)(supernet))


def test_what_breaks_the_constraint_gets_nothing_and_the_rest_is_judged_on_the_same_triples(supernet: Supernet) -> None:
    rng = np.random.default_rng(1)
    candidates = [Space(3, 2).sample(rng) for _ in range(3)]
    for measure in ("mrr", "loss", "train-mrr"):
        judge = OneShot(supernet, VIEW, measure, 64)
        asked = judge.draw(40, rng)
        rewards = judge.rewards([candidates[0], None, *candidates[1:]], asked)
        assert rewards[1] == 0
        assert (rewards[[0, 2, 3]] > 0).all()
        assert judge.rewards([candidates[0]], asked)[0] == rewards[0]
