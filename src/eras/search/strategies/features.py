"""What AutoSF's predictor reads off a structure: its symmetries (Zhang, Yao, Dai and Chen, ICDE 2020) and its shape.

A structure can model a symmetric relation if some values of its relation blocks make g(r) symmetric, and an
anti-symmetric one if some make it skew. How special those values must be says much about it: each way in which the
blocks' values can coincide, up to names and signs, gives two features. With four blocks there are 11 such ways, and 22
features, as published. To these come counts of cells, and what g(r) is like for random values. Nothing here depends
on the names and signs of blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from eras.scoring import Structure

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DRAWS = 200
"""Random values of the relation blocks that a structure is looked at with."""


def symmetry_features(structure: Structure) -> Floats:
    """For each way in which values can coincide: 1 where some such values make g(r) symmetric, then those for skew."""
    values, kinds = _assignments(structure.blocks)
    cells = np.array(structure.cells)
    g = np.sign(cells) * values[:, np.abs(cells)]  # (assignment, i, j)
    transposed = g.swapaxes(1, 2)
    found = np.zeros((2, kinds.max() + 1))
    for row, fits in zip(found, ((g == transposed).all((1, 2)), (g == -transposed).all((1, 2))), strict=True):
        row[kinds[fits]] = 1.0
    return found.ravel()


def shape_features(structure: Structure) -> Floats:
    """How many cells are filled: in all, in rows, columns and relation blocks, and in which symmetric arrangement."""
    cells = np.array(structure.cells)
    filled, size = cells != 0, np.abs(cells)
    blocks = [(size == k).sum() for k in range(1, structure.blocks + 1)]
    spread = [f(counts) for counts in (filled.sum(0), filled.sum(1), blocks) for f in (np.min, np.max, np.std)]
    mirrored = [(filled & (image == cells)).sum() for image in (cells.T, -cells.T)]
    return np.array([filled.sum(), np.diag(filled).sum(), (filled & filled.T).sum(), *mirrored, *spread], np.float64)


def value_features(structure: Structure) -> Floats:
    """What g(r) is like on average over random values of the relation blocks, scaled to length one.

    Its singular values; how symmetric it is, and how much that varies with r; how far it is from being singular; how
    far two relations are from commuting.
    """
    cells = np.array(structure.canonical().cells)
    values = np.random.default_rng(0).standard_normal((DRAWS, structure.blocks + 1))
    g = np.sign(cells) * values[:, np.abs(cells)]
    g /= np.maximum(np.linalg.norm(g, axis=(1, 2), keepdims=True), 1e-12)
    singular = np.linalg.svd(g, compute_uv=False)
    symmetric = np.linalg.norm(g + g.swapaxes(1, 2), axis=(1, 2)) / 2
    one, other = np.split(g, 2)
    commutator = np.linalg.norm(one @ other - other @ one, axis=(1, 2))
    spread = [f(symmetric) for f in (np.mean, np.std, np.min, np.max)]
    return np.array([*singular.mean(0), singular.prod(1).mean(), commutator.mean(), *spread], np.float64)


@lru_cache
def _assignments(M: int) -> tuple[Ints, Ints]:
    """Values of M blocks (A, 1 + M), that of the empty cell first, and the number of each assignment's kind (A,)."""
    values = np.array([(0, *v) for v in _signed_partitions(M)])
    names = [_kind(v) for v in values[:, 1:].tolist()]
    order = {kind: number for number, kind in enumerate(sorted(set(names)))}
    return values, np.array([order[kind] for kind in names])


def _signed_partitions(M: int, begun: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Every way for M values to be equal, opposite or unrelated: level k is first seen as +k."""
    if len(begun) == M:
        yield begun
        return
    levels = max(begun, default=0)
    for value in [*range(-levels, 0), *range(1, levels + 2)]:
        yield from _signed_partitions(M, (*begun, value))


def _kind(values: list[int]) -> tuple[tuple[int, int], ...]:
    """What is left of an assignment without names and signs: how many values of each size have either sign."""
    signs = Counter(values)
    sizes = sorted({abs(v) for v in values})
    return tuple(sorted((max(signs[s], signs[-s]), min(signs[s], signs[-s])) for s in sizes))
