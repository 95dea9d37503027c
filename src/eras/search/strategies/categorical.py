"""A factorised policy: one independent categorical distribution for each cell, taught by REINFORCE.

With embeddings held fixed the reward is a sum over groups, and a group's part depends on its own structure alone. So
the cells of a group are credited with what their group earned, not with what the others did.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.search.space import Candidate, Space, Tokens

LEARNING_RATE = 0.1
BASELINE_DECAY = 0.9
START = 3.0
"""Logit that a candidate to start from adds to its operations."""


class Categorical:
    def __init__(self, space: Space, seed: int, entropy_bonus: float = 0.0, start: tuple[Candidate, ...] = ()) -> None:
        self.space, self.entropy_bonus = space, entropy_bonus
        self.generator = torch.Generator().manual_seed(seed)
        self.logits = torch.zeros(space.decisions, space.operations)
        if start:
            self.logits[torch.arange(space.decisions), torch.from_numpy(space.encode(start[0]))] += START
        self.momentum, self.scale = torch.zeros_like(self.logits), torch.zeros(())
        self.baseline = torch.full((space.groups,), float("nan"))

    def sample(self, count: int) -> Tokens:
        drawn = torch.multinomial(self.logits.softmax(1), count, replacement=True, generator=self.generator)
        return drawn.T.numpy()

    def learn(self, tokens: Tokens, rewards: npt.NDArray[np.float64]) -> dict[str, float]:
        """One step along the policy gradient, measured in units of the advantages' usual size."""
        reward = torch.from_numpy(rewards).float()
        self.baseline = torch.where(self.baseline.isnan(), reward.mean(0), self.baseline)
        advantage = reward - self.baseline
        self.baseline = BASELINE_DECAY * self.baseline + (1 - BASELINE_DECAY) * reward.mean(0)
        self.scale = BASELINE_DECAY * self.scale + (1 - BASELINE_DECAY) * advantage.abs().mean()

        p = self.logits.softmax(1)
        chosen = torch.nn.functional.one_hot(torch.from_numpy(tokens), self.space.operations) - p
        credit = advantage.repeat_interleave(self.space.blocks**2, dim=1)
        gradient = (credit.unsqueeze(2) * chosen).mean(0) / self.scale.clamp(min=1e-6)
        entropy = -(p * p.log()).sum(1, keepdim=True)
        gradient -= self.entropy_bonus * p * (p.log() + entropy)
        self.momentum = 0.9 * self.momentum + gradient
        self.logits = self.logits + LEARNING_RATE * self.momentum
        return {"baseline": float(self.baseline.sum()), "entropy": float(entropy.mean())}

    def state(self) -> dict[str, Tensor]:
        return {
            "logits": self.logits,
            "momentum": self.momentum,
            "scale": self.scale,
            "baseline": self.baseline,
            "generator": self.generator.get_state(),
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        self.generator.set_state(state["generator"])
        self.logits, self.momentum = state["logits"], state["momentum"]
        self.scale, self.baseline = state["scale"], state["baseline"]
