"""Strategies: what proposes candidates, as rows of tokens, and learns from their rewards."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from eras.search.config import SearchConfig
from eras.search.space import Candidate, Space, Tokens
from eras.search.strategies.categorical import Categorical
from eras.search.strategies.evolution import Evolution
from eras.search.strategies.lstm import Policy
from eras.search.strategies.relaxed import Relaxed

Rewards = npt.NDArray[np.float64]
"""(count, N): what each candidate earns in each group. Its reward is the row's sum."""


class Strategy(Protocol):
    def sample(self, count: int) -> Tokens: ...

    def learn(self, tokens: Tokens, rewards: Rewards) -> dict[str, float]:
        """Take rewards in; what the journal wants to know about it."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the future depends on."""
        ...

    def restore(self, state: dict[str, Tensor]) -> None: ...


def make_strategy(config: SearchConfig, space: Space, start: tuple[Candidate, ...] = ()) -> Strategy | Relaxed:
    """The strategy that a search asks for; `start` holds candidates to try first, where it can make use of them."""
    if config.strategy == "lstm":
        return Policy(space, config.seed, config.entropy_bonus, config.policy_lr)
    if config.strategy == "categorical":
        return Categorical(space, config.seed, config.entropy_bonus, start)
    if config.strategy == "relaxed":
        return Relaxed(space, config.seed)
    return Evolution(space, config.seed, start)


__all__ = ["Categorical", "Evolution", "Policy", "Relaxed", "Rewards", "Strategy", "make_strategy"]
