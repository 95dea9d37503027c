"""The strategies beyond the paper: a factorised policy, evolution, and the relaxed (differentiable) one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from eras.search.space import Space
from eras.search.strategies import Resumable
from eras.search.strategies.categorical import Categorical
from eras.search.strategies.evolution import Evolution
from eras.search.strategies.relaxed import Relaxed

SPACE = Space(2, 2)
TARGET = np.array([1, 2, 4, 1, 0, 1, 2, 0])


def earned(tokens: np.ndarray) -> np.ndarray:
    """How much of the target each group has."""
    return (tokens == TARGET).reshape(len(tokens), 2, 4).mean(2) / 2


@pytest.mark.parametrize("make", [Categorical, Evolution])
def test_a_strategy_moves_towards_what_is_rewarded_and_goes_on_after_a_break(
    make: Callable[[Space, int], Resumable],
) -> None:
    strategy = make(SPACE, 0)
    first = earned(strategy.sample(200)).sum(1).mean()
    for _ in range(60):
        tokens = strategy.sample(16)
        strategy.learn(tokens, earned(tokens))
    restored = make(SPACE, 1)
    restored.restore(strategy.state())
    after = strategy.sample(200)
    assert earned(after).sum(1).mean() > first + 0.3
    assert np.array_equal(restored.sample(200), after)


def test_the_factorised_policy_credits_a_group_with_what_it_earned_itself() -> None:
    policy = Categorical(SPACE, 0)
    for _ in range(30):
        tokens = policy.sample(16)
        policy.learn(tokens, earned(tokens) * [1.0, 0.0])
    p = policy.logits.softmax(1).numpy()
    assert p[np.arange(4), TARGET[:4]].mean() > 0.5
    assert np.allclose(p[4:], 1 / SPACE.operations, atol=1e-6)


def test_evolution_tries_what_it_is_given_first_and_its_children_are_allowed() -> None:
    rng = np.random.default_rng(0)
    start = tuple(SPACE.sample(rng) for _ in range(3))
    evolution = Evolution(SPACE, 0, start)
    tokens = evolution.sample(3)
    assert [[s.cells for s in SPACE.decode(t) or ()] for t in tokens] == [[s.cells for s in c] for c in start]
    evolution.learn(tokens, np.array([[0.1, 0.1], [0.4, 0.4], [0.2, 0.2]]))
    children = evolution.sample(100)
    assert all(SPACE.decode(child) is not None for child in children)
    changed_groups = (children.reshape(-1, 1, 2, 4) != tokens.reshape(1, 3, 2, 4)).any(3).sum(2).min(1)
    assert (changed_groups <= 1).all(), "one group of the parent changes at a time"


def test_the_relaxed_strategy_descends_to_the_operation_with_the_steepest_gradient() -> None:
    strategy = Relaxed(SPACE, 0)
    gradient = np.zeros((2, 2, 2, 2))
    gradient[0, 0, 0, 1] = -1.0  # +r_2 lowers the loss in the first cell
    gradient[1, 1, 1, 0] = 1.0  # +r_1 raises it in the last, so -r_1 lowers it
    for _ in range(40):
        strategy.descend(gradient)
    tokens = strategy.heaviest()
    assert tokens[0] == 2
    assert tokens[-1] == SPACE.blocks + 1
    assert ((strategy.weights >= 0) & (strategy.weights <= 1)).all()
