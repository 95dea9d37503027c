"""Counting the scores above an answer, as machine code: one pass over scores for all answers of all questions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from numba import prange

from eras.compiled import numeric, team, threaded, threads_of_pytorch

Floats = npt.NDArray[np.floating]
Counts = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

_TILE = 64
"""Rows compared with first answers, then with second ones, and so on, while they are in cache."""

_i = np.int32
_u = np.uint64


def count(scores: torch.Tensor, column: int, own: torch.Tensor, widths: list[int]) -> tuple[Ints, Ints]:
    """How many scores of its column are above each of `own`, and how many are above or level.

    scores: (n, B). The first widths[0] of `own` belong to the columns from `column` on, and so do the next widths[1].
    """
    threads = threads_of_pytorch()
    above, level = np.empty((2, threads, len(own)), np.int32)
    with team(threads):
        _count(scores.numpy(), column, own.numpy(), np.array(widths, np.int64), above, level)
    return above.sum(0, dtype=np.int64), level.sum(0, dtype=np.int64)


@threaded
def _count(scores: Floats, column: int, own: Floats, widths: Ints, above: Counts, level: Counts) -> None:
    (n, B), threads, flat = scores.shape, len(above), scores.ravel()
    for share in prange(threads):
        rows = n * share // threads, n * (share + 1) // threads
        _count_rows(flat, B, rows, column, own, widths, above[share], level[share])


@numeric
def _count_rows(
    scores: Floats, B: int, rows: tuple[int, int], column: int, own: Floats, widths: Ints, above: Counts, level: Counts
) -> None:
    above[:], level[:] = _i(0), _i(0)
    for tile in range(rows[0], rows[1], _TILE):
        end, first = min(tile + _TILE, rows[1]), 0
        fours = end - (end - tile) % 4
        for width in widths:
            for i in range(tile, fours, 4):
                _compare_four(scores, i * B + column, B, own, first, width, above, level)
            for i in range(fours, end):
                _compare(scores, i * B + column, own, first, width, above, level)
            first += width


@numeric
def _compare(scores: Floats, at: int, own: Floats, first: int, width: int, above: Counts, level: Counts) -> None:
    a, k = _u(at), _u(first)  # unsigned, as for signed indices a loop looks out for negative ones
    for j in range(_u(width)):
        mine = own[k + j]
        above[k + j] += _i(scores[a + j] > mine)
        level[k + j] += _i(scores[a + j] >= mine)


@numeric
def _compare_four(
    scores: Floats, at: int, B: int, own: Floats, first: int, width: int, above: Counts, level: Counts
) -> None:
    """Four rows at a time: counts are read and written a quarter as often."""
    a, b, c, d, k = _u(at), _u(at + B), _u(at + 2 * B), _u(at + 3 * B), _u(first)
    for j in range(_u(width)):
        mine, w, x, y, z = own[k + j], scores[a + j], scores[b + j], scores[c + j], scores[d + j]
        above[k + j] += _i(w > mine) + _i(x > mine) + _i(y > mine) + _i(z > mine)
        level[k + j] += _i(w >= mine) + _i(x >= mine) + _i(y >= mine) + _i(z >= mine)
