from __future__ import annotations

import numpy as np
import torch

from eras.search.space import Space
from eras.search.strategies.lstm import Policy

SPACE = Space(2, 1)


def test_the_policy_moves_towards_what_is_rewarded() -> None:
    policy = Policy(SPACE, seed=0, learning_rate=0.02)
    target = np.array([1, 2, 4, 1])
    before = (policy.sample(400) == target).mean()
    entropies = []
    for _ in range(120):
        tokens = policy.sample(16)
        entropies.append(policy.learn(tokens, (tokens == target).mean(1, keepdims=True))["entropy"])
    assert (policy.sample(400) == target).mean() > before + 0.3
    assert entropies[-1] < entropies[0]


def test_the_first_policy_is_nearly_uniform_and_seeded() -> None:
    tokens = Policy(SPACE, seed=1).sample(4000)
    assert tokens.shape == (4000, SPACE.decisions)
    frequencies = np.bincount(tokens.ravel(), minlength=SPACE.operations) / tokens.size
    assert np.abs(frequencies - 1 / SPACE.operations).max() < 0.1
    assert np.array_equal(tokens, Policy(SPACE, seed=1).sample(4000))


def test_the_baseline_is_a_moving_average_over_all_steps() -> None:
    policy = Policy(SPACE, seed=0)
    expected = None
    for reward in (0.2, 0.6, 0.1):
        tokens = policy.sample(4)
        expected = reward if expected is None else expected
        expected = 0.95 * expected + 0.05 * reward
        assert np.isclose(policy.learn(tokens, np.full((4, 1), reward))["baseline"], expected)


def test_rewards_at_the_baseline_teach_nothing() -> None:
    policy = Policy(SPACE, seed=0)
    policy.baseline = 0.5
    before = [p.detach().clone() for p in policy.parameters()]
    policy.learn(policy.sample(8), np.full((8, 1), 0.5))
    assert all(torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))


def test_what_is_taught_is_the_probability_that_was_sampled_from() -> None:
    """One gradient step on a reward, against the chain of decisions written out one by one."""
    policy, by_hand = Policy(SPACE, seed=3, learning_rate=0.1), Policy(SPACE, seed=3, learning_rate=0.1)
    tokens, rewards = policy.sample(5), np.linspace(0, 1, 5)[:, None]
    policy.baseline = 0.25
    log_p = torch.zeros(5)
    for n, row in enumerate(tokens.tolist()):
        before, state = by_hand.start, (torch.zeros(1, 100), torch.zeros(1, 100))
        weights = dict(by_hand.lstm.named_parameters())
        for v, token in enumerate(row):
            state = torch.lstm_cell(
                before[None], state, *(weights[f"{k}_l0"] for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            )
            logits = state[0][0] @ by_hand.heads[v] + by_hand.biases[v, 0]
            log_p[n] += (2.5 * torch.tanh(logits / 5)).log_softmax(0)[token]
            before = by_hand.embed.weight[token]
    (-(torch.from_numpy(rewards[:, 0] - 0.25).float() * log_p).mean()).backward()
    policy.learn(tokens, rewards)
    for one, other in zip(policy.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)
