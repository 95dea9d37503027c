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
        self.cell = nn.LSTMCell(WIDTH, WIDTH)
        self.heads = nn.ModuleList(nn.Linear(WIDTH, space.operations) for _ in range(space.decisions))
        for parameter in self.parameters():
            with torch.no_grad():
                parameter.copy_(torch.rand(parameter.shape, generator=self.generator) * 0.2 - 0.1)
        self.optimiser = torch.optim.Adam(self.parameters(), lr=learning_rate)
        self.baseline = math.nan

    def sample(self, count: int) -> Tokens:
        """(count, V) tokens drawn from the policy."""
        with torch.no_grad():
            tokens, _, _ = self._roll(count, None)
        return tokens.numpy()

    def learn(self, tokens: Tokens, rewards: np.ndarray) -> dict[str, float]:
        """One REINFORCE step on candidates and their rewards, whatever group earned them."""
        total = rewards.sum(1)
        if math.isnan(self.baseline):
            self.baseline = float(total.mean())
        advantage = torch.from_numpy(total - self.baseline).float()
        _, log_p, entropy = self._roll(len(tokens), torch.from_numpy(tokens))
        loss = -(advantage * log_p).mean() - self.entropy_bonus * entropy.mean()
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.optimiser.step()
        self.baseline = BASELINE_DECAY * self.baseline + (1 - BASELINE_DECAY) * float(total.mean())
        return {"baseline": self.baseline, "entropy": float(entropy.detach().mean()) / self.space.decisions}

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the policy's future depends on: parameters, Adam's state, the random generator's."""
        tensors = {f"parameter.{name}": p.detach() for name, p in self.named_parameters()}
        for name, p in self.named_parameters():
            tensors |= {f"adam.{name}.{key}": value for key, value in self.optimiser.state[p].items()}
        baseline = torch.tensor(self.baseline, dtype=torch.float64)
        return {**tensors, "generator": self.generator.get_state(), "baseline": baseline}

    def restore(self, state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, p in self.named_parameters():
                p.copy_(state[f"parameter.{name}"])
                prefix = f"adam.{name}."
                saved = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
                self.optimiser.state[p] = saved
        self.generator.set_state(state["generator"])
        self.baseline = float(state["baseline"])

    def _roll(self, count: int, given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens (count, V), their log-probability (count,) and the policy's entropy along them (count,)."""
        state: tuple[Tensor, Tensor] | None = None
        token_input = self.start.expand(count, WIDTH)
        tokens, log_p, entropy = [], torch.zeros(count), torch.zeros(count)
        for v, head in enumerate(self.heads):
            state = self.cell(token_input, state)
            log_probabilities = (SQUASH * torch.tanh(head(state[0]) / TEMPERATURE)).log_softmax(1)
            probabilities = log_probabilities.exp()
            chosen = (
                torch.multinomial(probabilities, 1, generator=self.generator).squeeze(1)
                if given is None
                else given[:, v]
            )
            log_p = log_p + log_probabilities.gather(1, chosen.unsqueeze(1)).squeeze(1)
            entropy = entropy - (probabilities * log_probabilities).sum(1)
            tokens.append(chosen)
            token_input = self.embed(chosen)
        return torch.stack(tokens, 1), log_p, entropy
