"""Random search: candidates drawn uniformly among those that keep the constraint."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eras.search.space import Space, Tokens

_PURPOSE = 15  # part of the seed, so that no other generator draws the same numbers


class Random:
    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.rng = np.random.default_rng([seed, 0, 0, _PURPOSE])

    def sample(self, count: int) -> Tokens:
        return np.stack([self.space.encode(self.space.sample(self.rng)) for _ in range(count)])

    def learn(self, tokens: Tokens, rewards: npt.NDArray[np.float64]) -> dict[str, float]:
        return {}
