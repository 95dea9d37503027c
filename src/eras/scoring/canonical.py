"""The canonical form of one or more structures that share their entity embeddings.

Renaming and negating entity blocks acts on rows and columns alike and on all groups at once; renaming and
negating relation blocks is each group's own affair. The canonical form is the smallest of all equivalent
forms, compared cell by cell, group by group: first by pattern (a relation block seen before, then a new
one, then an empty cell), then by sign (+ before −). Transposition is not a symmetry: head and tail differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from eras.scoring.text import Cells

Array = NDArray[np.intp]
Pattern = list[list[int]]


@lru_cache(maxsize=16384)
def canonical_cells(groups: tuple[Cells, ...]) -> tuple[Cells, ...]:
    """The canonical form of the literal matrices `groups`, all of one size, in the order given."""
    cells = np.array(groups, dtype=np.intp)
    order = _permutations(len(groups[0]))
    patterns = []
    for group in np.abs(cells):
        pattern, order = _smallest_pattern(group, order)
        patterns.append(pattern)
    return _with_smallest_signs(patterns, (cells < 0).astype(np.intp), order)


@lru_cache(maxsize=8)
def _permutations(M: int) -> Array:
    """All orders of M blocks, (M, M!): column p puts old block order[i, p] at place i."""
    return np.array(list(permutations(range(M))), dtype=np.intp).T.copy()


def _smallest_pattern(labels: Array, order: Array) -> tuple[Pattern, Array]:
    """The smallest pattern of one group over the candidate orders, and the orders that reach it.

    Relation blocks are numbered as they appear, row by row. After each cell only the orders with the
    smallest entry go on, so all survivors have seen the same pattern and hence the same number of blocks.
    """
    M = len(labels)
    new, empty = M + 1, M + 2
    renamed = np.full((order.shape[1], M + 1), new, dtype=np.intp)
    renamed[:, 0] = empty
    start = np.arange(0, renamed.size, M + 1)  # of each order's row in the flat `renamed`
    seen = 0
    pattern = [[0] * M for _ in range(M)]
    for i in range(M):
        for j in range(M):
            block = _permuted(labels, order, i, j)
            entry = renamed.take(start + block)
            smallest = int(entry.min())
            keep = entry == smallest
            if not keep.all():
                order, renamed, block = order[:, keep], renamed[keep], block[keep]
                start = start[: len(block)]
            if smallest == new:
                seen += 1
                smallest = seen
                renamed.put(start + block, seen)
            pattern[i][j] = 0 if smallest == empty else smallest
    return pattern, order


def _with_smallest_signs(patterns: list[Pattern], negative: Array, order: Array) -> tuple[Cells, ...]:
    """Give the patterns the smallest signs that any of the orders and any negation of blocks can reach.

    Negating blocks adds s_i + s_j + u_k (mod 2) to the sign of a cell, the same forms for every order. A
    cell whose form is independent of those before it can be made +. Any other form is a sum of such forms,
    so the sign of its cell is the sum (mod 2) of their cells' original signs and its own.
    """
    M = len(patterns[0])
    signed = [[row.copy() for row in pattern] for pattern in patterns]
    basis = _Basis()
    free: list[tuple[int, int, int]] = []  # the cells with independent forms
    for g, i, j, k in _nonzero(patterns):
        combination = basis.add(1 << i ^ 1 << j ^ 1 << M * (g + 1) + k - 1)
        if combination is None:
            free.append((g, i, j))
            continue
        sum_of = [(g, i, j), *(cell for n, cell in enumerate(free) if combination >> n & 1)]
        minus = np.bitwise_xor.reduce([_permuted(negative[g], order, i, j) for g, i, j in sum_of])
        if minus.all():
            signed[g][i][j] *= -1
        elif minus.any():
            order = order[:, minus == 0]
    return tuple(tuple(map(tuple, group)) for group in signed)


def _nonzero(patterns: list[Pattern]) -> Iterator[tuple[int, int, int, int]]:
    """(group, row, column, relation block) of the cells in use, in the order of comparison."""
    for g, pattern in enumerate(patterns):
        for i, row in enumerate(pattern):
            for j, k in enumerate(row):
                if k:
                    yield g, i, j, k


def _permuted(matrix: Array, order: Array, i: int, j: int) -> Array:
    """What each order puts into cell (i, j)."""
    place: Array = order[i] * len(matrix) + order[j]
    return matrix.take(place)


class _Basis:
    """Linear forms over GF(2), as bit masks, added one by one."""

    def __init__(self) -> None:
        self._reduced: list[tuple[int, int]] = []  # (form, which of the independent forms add up to it)

    def add(self, form: int) -> int | None:
        """None if `form` is independent of those before, else the mask of the independent forms it sums."""
        combination = 0
        for reduced, parts in self._reduced:
            if form ^ reduced < form:
                form ^= reduced
                combination ^= parts
        if not form:
            return combination
        self._reduced.append((form, combination ^ 1 << len(self._reduced)))
        self._reduced.sort(reverse=True)
        return None
