"""Evolution: the best candidates so far have children, each with a change or two in one group's structure."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.scoring.canonical import canonical_cells
from eras.scoring.text import Cells
from eras.search.space import Candidate, Space, Tokens

_PURPOSE = 11  # part of the seed, so that no other generator draws the same numbers

POPULATION = 12
TOURNAMENT = 3
MEMORY = 0.8
"""How much of a candidate's old reward is kept when it is judged again, on another mini-batch."""


class Evolution:
    """A population of the best candidates; parents win a small tournament among them."""

    def __init__(self, space: Space, seed: int, start: tuple[Candidate, ...] = ()) -> None:
        self.space = space
        self.rng = np.random.default_rng([seed, 0, 0, _PURPOSE])
        self.waiting = [space.encode(candidate) for candidate in start]
        self.rewards: dict[tuple[int, ...], list[float]] = {}
        self.population = [tuple(row.tolist()) for row in self.waiting]

    def sample(self, count: int) -> Tokens:
        """The candidates to start from, then children; random ones where there is nothing to start from."""
        return np.stack([self._next() for _ in range(count)])

    def learn(self, tokens: Tokens, rewards: npt.NDArray[np.float64]) -> dict[str, float]:
        for row, reward in zip(tokens.tolist(), rewards, strict=True):
            old = self.rewards.get(tuple(row))
            mixed = reward if old is None else MEMORY * np.array(old) + (1 - MEMORY) * reward
            self.rewards[tuple(row)] = [float(part) for part in mixed]
        self._select()
        return {"baseline": float(np.mean([sum(self.rewards[row]) for row in self.population]))}

    def state(self) -> dict[str, Tensor]:
        memory = np.array([[*row, *reward] for row, reward in self.rewards.items()], dtype=np.float64)
        waiting = np.array(self.waiting, dtype=np.int64).reshape(-1, self.space.decisions)
        generator = json.dumps(self.rng.bit_generator.state).encode()
        return {
            "memory": torch.from_numpy(memory.reshape(-1, self.space.decisions + self.space.groups)),
            "waiting": torch.from_numpy(waiting),
            "generator": torch.from_numpy(np.frombuffer(generator, dtype=np.uint8).copy()),
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        V = self.space.decisions
        self.rewards = {tuple(int(t) for t in row[:V]): row[V:].tolist() for row in state["memory"].numpy()}
        self.waiting = list(state["waiting"].numpy())
        if self.rewards:
            self._select()
        self.rng.bit_generator.state = json.loads(state["generator"].numpy().tobytes())

    def _select(self) -> None:
        """The population: the best candidates; of those that are equivalent, the first."""
        chosen: dict[tuple[Cells, ...], tuple[int, ...]] = {}
        for row in sorted(self.rewards, key=lambda row: -sum(self.rewards[row])):
            candidate = self.space.decode(np.array(row))
            if candidate is not None:
                chosen.setdefault(canonical_cells(tuple(s.cells for s in candidate)), row)
            if len(chosen) == POPULATION:
                break
        self.population = list(chosen.values())

    def _next(self) -> Tokens:
        if self.waiting:
            return self.waiting.pop(0)
        if not self.population:
            return self.space.encode(self.space.sample(self.rng))
        rivals = self.rng.integers(len(self.population), size=TOURNAMENT)
        parent = np.array(self.population[rivals.min()], dtype=np.int64)
        while True:
            child = self._mutated(parent)
            if self.space.decode(child) is not None:
                return child

    def _mutated(self, parent: Tokens) -> Tokens:
        """One group changes: it takes over another structure of the population, or one or two of its cells change."""
        child, size, rng = parent.copy(), self.space.blocks**2, self.rng
        group = slice(*(int(rng.integers(self.space.groups)) * size + np.array([0, size])))
        if self.space.groups > 1 and rng.random() < 0.25:
            donor = self.population[rng.integers(len(self.population))]
            first = int(rng.integers(self.space.groups)) * size
            child[group] = donor[first : first + size]
            return child
        cells = child[group]
        for _ in range(int(rng.integers(1, 3))):
            one, other = rng.choice(size, size=2, replace=False)
            kind = rng.integers(3)
            if kind == 0:
                cells[[one, other]] = cells[[other, one]]
            elif kind == 1 and cells[one]:
                M = self.space.blocks
                cells[one] = cells[one] + M if cells[one] <= M else cells[one] - M
            else:
                cells[one] = rng.integers(self.space.operations)
        return child
