"""The differentiable variant, after NASP (Yao et al., AAAI 2020): discrete forward, continuous update.

Every cell holds a weight in [0, 1] for each operation. The forward pass uses the heaviest operation alone; the loss's
gradient with respect to *all* operations of that discrete point moves the weights, which are then put back into [0, 1].
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from eras.search.space import Space, Tokens

LEARNING_RATE = 0.05


class Relaxed:
    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.generator = torch.Generator().manual_seed(seed)
        self.weights = torch.rand(space.decisions, space.operations, generator=self.generator)

    def heaviest(self) -> Tokens:
        """(V,): the discrete point."""
        tokens: Tokens = self.weights.argmax(1).numpy()
        return tokens

    def sample(self, count: int) -> Tokens:
        """The discrete point, then points drawn around it in proportion to the weights."""
        drawn = torch.multinomial(self.weights + 1e-6, count, replacement=True, generator=self.generator).T.numpy()
        drawn[0] = self.heaviest()
        return drawn

    def descend(self, gradient: np.ndarray) -> dict[str, float]:
        """One step against the gradient of the loss with respect to +r_k in each cell, (N, M, M, M).

        −r_k has the opposite gradient and the empty cell none. The step has unit scale: the largest entry moves by
        LEARNING_RATE.
        """
        plus = torch.from_numpy(gradient).float().reshape(self.space.decisions, self.space.blocks)
        gradient_of = torch.cat([torch.zeros(len(plus), 1), plus, -plus], dim=1)
        self.weights -= LEARNING_RATE * gradient_of / gradient_of.abs().max().clamp(min=1e-12)
        self.weights.clamp_(0.0, 1.0)
        p = (self.weights + 1e-6) / (self.weights + 1e-6).sum(1, keepdim=True)
        return {"entropy": float(-(p * p.log()).sum(1).mean())}

    def state(self) -> dict[str, Tensor]:
        return {"weights": self.weights, "generator": self.generator.get_state()}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.weights = state["weights"]
        self.generator.set_state(state["generator"])
