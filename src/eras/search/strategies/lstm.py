"""The controller of the paper: an LSTM that spells a candidate token by token, taught by REINFORCE.

One cell of width 100, an embedding of the token before, one linear head for each decision, weights drawn from
U(±0.1), logits squashed to 2.5·tanh(logits / 5), Adam with 3.5e-4: the settings that the authors published.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from eras.search.space import Space, Tokens
from eras.training import TrainConfig
from eras.training.optimiser import Optimiser, gradients_of

WIDTH = 100
TEMPERATURE = 5.0
SQUASH = 2.5
LEARNING_RATE = 3.5e-4
BASELINE_DECAY = 0.95


class Policy(nn.Module):
    """π(A; θ) over the V decisions of a space, with a moving-average baseline that lives as long as the policy."""

    def __init__(
        self, space: Space, seed: int, entropy_bonus: float = 0.0, learning_rate: float = LEARNING_RATE
    ) -> None:
        super().__init__()
        self.space, self.entropy_bonus = space, entropy_bonus
        self.generator = torch.Generator().manual_seed(seed)
        self.start = nn.Parameter(torch.empty(WIDTH))
        self.embed = nn.Embedding(space.operations, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH)
        self.heads = nn.Parameter(torch.empty(space.decisions, WIDTH, space.operations))
        self.biases = nn.Parameter(torch.empty(space.decisions, 1, space.operations))
        for parameter in self.parameters():
            with torch.no_grad():
                parameter.copy_(torch.rand(parameter.shape, generator=self.generator) * 0.2 - 0.1)
        self.optimiser = Optimiser(dict(self.named_parameters()), TrainConfig(optimiser="adam", lr=learning_rate))
        self.baseline = math.nan

    def sample(self, count: int) -> Tokens:
        """(count, V) tokens drawn from the policy, each decision given those before it."""
        tokens = torch.empty(self.space.decisions, count, dtype=torch.int64)
        weights = [getattr(self.lstm, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        with torch.no_grad():
            before, hidden, state = self.start.expand(count, WIDTH), *torch.zeros(2, count, WIDTH)
            for v in range(self.space.decisions):
                hidden, state = torch.lstm_cell(before, (hidden, state), *weights)
                chances = self._log_probabilities(hidden[None], slice(v, v + 1))[0].exp()
                tokens[v] = torch.multinomial(chances, 1, generator=self.generator).squeeze(1)
                before = self.embed(tokens[v])
        return tokens.T.numpy()

    def learn(self, tokens: Tokens, rewards: np.ndarray) -> dict[str, float]:
        """One REINFORCE step on candidates and their rewards, whatever group earned them."""
        total = rewards.sum(1)
        if math.isnan(self.baseline):
            self.baseline = float(total.mean())
        advantage = torch.from_numpy(total - self.baseline).float()
        spelled = torch.from_numpy(tokens.T.copy())
        before = torch.cat([self.start.expand(1, len(tokens), WIDTH), self.embed(spelled[:-1])])
        log_probabilities = self._log_probabilities(self.lstm(before)[0], slice(None))
        log_p = log_probabilities.gather(2, spelled.unsqueeze(2)).sum((0, 2))
        entropy = -(log_probabilities.exp() * log_probabilities).sum((0, 2))
        loss = -(advantage * log_p).mean() - self.entropy_bonus * entropy.mean()
        self.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.optimiser.step(0, gradients_of(self))
        self.baseline = BASELINE_DECAY * self.baseline + (1 - BASELINE_DECAY) * float(total.mean())
        return {"baseline": self.baseline, "entropy": float(entropy.detach().mean()) / self.space.decisions}

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the policy's future depends on: parameters, Adam's state, the random generator's."""
        tensors = {f"parameter.{name}": p.detach() for name, p in self.named_parameters()}
        tensors |= {f"adam.{name}": value for name, value in self.optimiser.state().items()}
        baseline = torch.tensor(self.baseline, dtype=torch.float64)
        return {**tensors, "generator": self.generator.get_state(), "baseline": baseline}

    def restore(self, state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, p in self.named_parameters():
                p.copy_(state[f"parameter.{name}"])
        adam = {key.removeprefix("adam."): value for key, value in state.items() if key.startswith("adam.")}
        self.optimiser.restore(adam)
        self.generator.set_state(state["generator"])
        self.baseline = float(state["baseline"])

    def _log_probabilities(self, hidden: Tensor, decisions: slice) -> Tensor:
        """(v, count, operations) from the LSTM's outputs (v, count, width) at these decisions."""
        logits = torch.baddbmm(self.biases[decisions], hidden, self.heads[decisions])
        return (SQUASH * torch.tanh(logits / TEMPERATURE)).log_softmax(2)
