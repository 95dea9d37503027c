"""Block structures as compiled functions take them: arrays in place of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eras.scoring.query import Plan
from eras.training.kernels import Floats, Ints, Sizes, Structures
from eras.training.regularisers import Coupling, couplings


def structures_of(plans: Sequence[Plan], dim: int) -> Structures:
    M, S = plans[0].blocks, len(plans)
    cells = np.array([(n, *cell) for n, plan in enumerate(plans) for cell in plan.to_tail], np.float32).T
    n, h, r, t = cells[:4].astype(np.int64)
    contraction, c, a, b = np.concatenate([(n, t, h, r), (S + n, h, t, r), (2 * S + n, r, h, t)], axis=1)
    starts, pairs, signs = _pairs(M, 3 * S, M * contraction + c, a, b, np.tile(cells[4], 3))
    pairs[:, :5] *= np.uint64(dim // M)
    kinds = [couplings(plan) for plan in plans]
    number = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    coupled = [np.stack([_padded(kind[table], M) for kind in number]) for table in (0, 1)]
    return Structures(
        dim // M, starts, pairs, signs, np.array([number[kind] for kind in kinds]), coupled[0], coupled[1]
    )


def _pairs(M: int, N: int, key: Ints, a: Ints, b: Ints, sign: Floats) -> tuple[Ints, Sizes, Floats]:
    """Terms ± x_a ∘ y_b of block c of contraction n, of N, for key = M n + c; a block without gets a pair of zeros."""
    order = np.argsort(key, kind="stable")
    key, a, b, sign = key[order], a[order], b[order], sign[order]
    counts = np.bincount(key, minlength=M * N)
    ends = np.cumsum(np.maximum(1, (counts + 1) // 2))
    firsts = np.append(0, ends[:-1])
    nth = np.arange(len(key)) - np.repeat(np.cumsum(counts) - counts, counts)
    pair, second = firsts[key] + nth // 2, nth % 2
    pairs, signs = np.zeros((ends[-1], 6), np.uint64), np.zeros((ends[-1], 2), np.float32)
    pairs[:, 0] = np.repeat(np.arange(M * N) % M, ends - firsts)
    pairs[pair, 1 + 2 * second], pairs[pair, 2 + 2 * second], signs[pair, second] = a, b, sign
    pairs[firsts, 5] = 1
    return np.append(firsts[::M], ends[-1]), pairs, signs


def _padded(coupling: Coupling, M: int) -> Ints:
    padded = np.full((M, M), -1)
    for row, together in enumerate(coupling):
        padded[row, : len(together)] = together
    return padded
