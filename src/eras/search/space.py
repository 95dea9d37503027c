"""The search space: N groups, each with an M×M structure, as V = N·M² decisions among 2M + 1 operations.

Operation 0 leaves a cell empty, operations 1 … M put +r_k there, operations M + 1 … 2M put −r_k. A candidate is the
tuple of its N structures; together with a grouping it is a scoring function.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from eras.errors import SettingError
from eras.scoring import Structure

Tokens = npt.NDArray[np.int64]
Candidate = tuple[Structure, ...]


@dataclass(frozen=True)
class Space:
    blocks: int
    groups: int

    def __post_init__(self) -> None:
        if not 2 <= self.blocks <= 6:
            raise SettingError(f"blocks {self.blocks}: the search works with 2 to 6 blocks")
        if not 1 <= self.groups <= 8:
            raise SettingError(f"groups {self.groups}: the search works with 1 to 8 groups")

    @property
    def decisions(self) -> int:
        """V, the number of cells of all structures together."""
        return self.groups * self.blocks**2

    @property
    def operations(self) -> int:
        return 2 * self.blocks + 1

    def decode(self, tokens: Tokens, constrained: bool = True) -> Candidate | None:
        """The structures that V tokens spell; None where the candidate is not allowed, or has an empty structure."""
        matrices = self._cells(tokens).reshape(self.groups, self.blocks, self.blocks)
        if not all(matrix.any() for matrix in matrices):
            return None
        candidate = tuple(Structure(matrix.tolist()) for matrix in matrices)
        return candidate if allowed(candidate) or not constrained else None

    def encode(self, candidate: Candidate) -> Tokens:
        return self._tokens(np.array([s.cells for s in candidate], dtype=np.int64).ravel())

    def sample(self, rng: np.random.Generator, density: float | None = None) -> Candidate:
        """A candidate drawn uniformly among the allowed ones, or with about `density` of its cells in use."""
        while True:
            tokens = rng.integers(self.operations, size=self.decisions)
            if density is not None:
                nonzero = rng.integers(1, self.operations, size=self.decisions)
                tokens = np.where(rng.random(self.decisions) < density, nonzero, 0)
            candidate = self.decode(tokens)
            if candidate is not None:
                return candidate

    def fair(self, rng: np.random.Generator) -> Tokens:
        """(2M + 1, V): as many candidates as there are operations, in which every cell meets each of them once."""
        return np.stack([rng.permutation(self.operations) for _ in range(self.decisions)], axis=1)

    def anchor(self, tokens: Tokens) -> Tokens:
        """(n, V): each structure with its relation blocks renamed and negated so that row i carries +r_i.

        Trained on its own, an anchored candidate is the same function. Under shared embeddings the anchor decides
        whether random candidates agree on anything: without it each is as likely as its negative, and they cancel.
        Where the rows cannot all have a relation block to themselves, as many as possible do; of several renamings
        the one that leaves most blocks their names is taken.
        """
        M = self.blocks
        cells = self._cells(tokens).reshape(-1, M, M)
        size = np.abs(cells)
        carries = (size[:, :, :, None] == np.arange(1, M + 1)).any(2)  # (structure, row, block)
        renamings = _permutations(M)  # (P, M): the block that becomes each row's own
        at_home = (renamings == np.arange(M)).sum(1) * (0.1 / M)
        fitting = carries[:, np.arange(M), renamings].sum(2) + at_home
        block_of_row = renamings[fitting.argmax(1)] + 1  # (structure, row)
        own = size == block_of_row[:, :, None]
        first = np.take_along_axis(cells, own.argmax(2)[:, :, None], 2)[:, :, 0]
        sign_of_row = np.where(own.any(2), np.sign(first), 1)
        row_of_cell = (size[..., None] == block_of_row[:, None, None, :]).argmax(3)
        sign = np.sign(cells) * np.take_along_axis(sign_of_row, row_of_cell.reshape(len(cells), -1), 1).reshape(
            size.shape
        )
        return self._tokens(sign * (row_of_cell + 1)).reshape(len(tokens), -1)

    def _cells(self, tokens: Tokens) -> Tokens:
        return np.where(tokens > self.blocks, self.blocks - tokens, tokens)

    def _tokens(self, cells: Tokens) -> Tokens:
        return np.where(cells < 0, self.blocks - cells, cells)


@lru_cache
def _permutations(n: int) -> Tokens:
    return np.array(list(itertools.permutations(range(n))))


def allowed(candidate: Sequence[Structure]) -> bool:
    """The exploitative constraint (every relation block is used), and no structure that ignores part of its input."""
    return all(not structure.degeneracies() for structure in candidate)
