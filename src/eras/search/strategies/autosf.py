"""AutoSF, Algorithm 1 of the paper (Zhang, Yao, Dai and Chen, ICDE 2020), and its evolutionary successor.

Functions grow: the first ones have one cell in each row and column, and a round adds cells to the best of those that
have fewer. Of many grown functions, the few that a predictor likes best are trained. When the largest size is reached,
another pass begins with the smallest, so the search goes on for as long as there is time.

The successor takes its candidates from the best functions of any size, by mutation and crossover.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt

from eras.scoring.canonical import canonical_cells
from eras.scoring.text import Cells
from eras.search.space import Candidate, Space, Tokens
from eras.search.strategies.predictor import Predictor

_PURPOSE = 14  # part of the seed, so that no other generator draws the same numbers

PARENTS = 8
"""Functions of a round that the next ones come from."""

BLIND = 4
"""One candidate in so many is drawn from those that the predictor did not choose: it could not be corrected else."""

PATIENCE = 20
"""Draws for each candidate that is wanted; a small space may have no new ones left."""

Row = tuple[int, ...]


class AutoSF:
    """Proposes candidates that it has not seen, up to equivalence, and that keep the constraint."""

    def __init__(
        self,
        space: Space,
        seed: int,
        start: tuple[Candidate, ...] = (),
        *,
        added: int = 2,
        cells: int | None = None,
        candidates: int = 256,
        evolving: bool = False,
    ) -> None:
        self.space, self.added, self.candidates, self.evolving = space, added, candidates, evolving
        self.most = cells or 3 * space.blocks
        self.rng = np.random.default_rng([seed, 0, 0, _PURPOSE])
        self.waiting = [space.encode(candidate) for candidate in start or first_candidates(space)]
        self.predictor = Predictor(space)
        self.rewards: dict[Row, float] = {}
        self.seen: set[tuple[Cells, ...]] = set()
        self.size = 0

    def sample(self, count: int) -> Tokens:
        """The candidates to start from, then those that the predictor likes best of a round, and a few others."""
        if self.waiting:
            chosen, self.waiting = self.waiting[:count], self.waiting[count:]
        else:
            pool = self._pool()
            order = np.argsort(-self.predictor.predict(pool), kind="stable")
            blind = count // BLIND
            picked = [*order[: count - blind], *self.rng.permutation(order[count - blind :])[:blind]]
            chosen = [np.array(pool[i]) for i in picked]
        for row in chosen:
            self.seen.add(self._form(row))
        return np.array(chosen, dtype=np.int64).reshape(-1, self.space.decisions)

    def learn(self, tokens: Tokens, rewards: npt.NDArray[np.float64]) -> dict[str, float]:
        self.rewards |= dict(zip(map(tuple, tokens.tolist()), rewards.sum(1).tolist(), strict=True))
        self.predictor.fit(list(self.rewards), list(self.rewards.values()))
        agreement = self.predictor.agreement()
        return {} if agreement is None else {"predictor_correlation": agreement}

    # --- a round's candidates --------------------------------------------------------------------------

    def _pool(self) -> list[Row]:
        """New candidates of the next size at which there are any."""
        for _ in range(self.most):
            parents = self._parents()
            pool: dict[tuple[Cells, ...], Row] = {}
            for _ in range(PATIENCE * self.candidates if parents else 0):
                child = self._child(parents)
                if self.space.decode(child) is not None:
                    form = self._form(child)
                    if form not in self.seen:
                        pool.setdefault(form, tuple(child.tolist()))
                if len(pool) == self.candidates:
                    break
            if pool:
                return list(pool.values())
        return []

    def _parents(self) -> list[Tokens]:
        """The best functions to grow or to vary; growing moves on by one size in every round."""
        rows = list(self.rewards)
        if not self.evolving and self.space.groups == 1:
            sizes = [np.count_nonzero(row) for row in rows]
            steps = 1 + max(0, (self.most - self.space.blocks) // self.added - 1)
            wanted = self.space.blocks + self.added * (self.size % steps)
            self.size += 1
            rows = [row for row, size in zip(rows, sizes, strict=True) if size == wanted]
        best = sorted(rows, key=lambda row: -self.rewards[row])[:PARENTS]
        return [np.array(row, dtype=np.int64) for row in best]

    def _child(self, parents: list[Tokens]) -> Tokens:
        rng, size = self.rng, self.space.blocks**2
        child = parents[rng.integers(len(parents))].copy()
        first = int(rng.integers(self.space.groups)) * size
        group = slice(first, first + size)
        if self.evolving:
            other = parents[rng.integers(len(parents))][group]
            child[group] = _crossed(child[group], other, rng) if rng.random() < 0.5 else self._mutated(child[group])
        else:
            child[group] = self._grown(child[group])
        return child

    def _grown(self, cells: Tokens) -> Tokens:
        """`added` of the empty cells filled, with any relation block and sign; fewer where the size allows no more."""
        empty = np.flatnonzero(cells == 0)
        room = min(self.added, len(empty), self.most - int(np.count_nonzero(cells)))
        if room > 0:
            filled = self.rng.choice(empty, size=room, replace=False)
            cells[filled] = self.rng.integers(1, self.space.operations, size=room)
        return cells

    def _mutated(self, cells: Tokens) -> Tokens:
        """One or two cells changed to any operation."""
        changed = self.rng.choice(len(cells), size=int(self.rng.integers(1, 3)), replace=False)
        cells[changed] = self.rng.integers(self.space.operations, size=len(changed))
        return cells

    def _form(self, row: Tokens) -> tuple[Cells, ...]:
        candidate = self.space.decode(np.asarray(row), constrained=False)
        return canonical_cells(tuple(s.cells for s in candidate or ()))


def first_candidates(space: Space) -> list[Candidate]:
    """One cell in each row and column, each with a relation block of its own: a permutation, up to equivalence."""
    M = space.blocks
    found: dict[Cells, Candidate] = {}
    for columns in permutations(range(M)):
        tokens = np.zeros((M, M), dtype=np.int64)
        tokens[np.arange(M), columns] = np.arange(1, M + 1)
        candidate = space.decode(np.tile(tokens.ravel(), space.groups))
        if candidate is not None:
            (form,) = canonical_cells((candidate[0].cells,))
            found.setdefault(form, candidate)
    return list(found.values())


def _crossed(one: Tokens, other: Tokens, rng: np.random.Generator) -> Tokens:
    """Each cell from either parent."""
    return np.where(rng.random(len(one)) < 0.5, one, other)
