"""Holding out validation and test triples, so that whatever they mention also occurs in training."""

from __future__ import annotations

import numpy as np

from eras.errors import DataError, SettingError
from eras.graph.model import Triples


def check_holdout(holdout: tuple[float, float]) -> None:
    valid, test = holdout
    if not (valid > 0 and test >= 0 and valid + test < 1):
        raise SettingError(
            f"holdout is {holdout}: expected the fractions (validation, test), with validation above 0 "
            "and both together below 1, such as (0.1, 0.1)"
        )


def hold_out(triples: Triples, fractions: tuple[float, ...], seed: int, where: str) -> tuple[Triples, list[Triples]]:
    """What remains of `triples` (n, 3), and one held-out part per fraction of n; sorted in, sorted out.

    The choice depends on the rows and the seed alone. In a seeded random order, the first triple of every
    entity and of every relation must stay; the others are held out in that order. Where too few are free to
    go, the parts shrink in proportion.
    """
    n = len(triples)
    order = np.random.default_rng(seed).permutation(n)
    free = order[~_first_mentions(triples[order])]
    wanted = np.array([max(1, round(f * n)) if f > 0 else 0 for f in fractions])
    if wanted.sum() > len(free):
        wanted = wanted * len(free) // wanted.sum()
    if any(size == 0 and f > 0 for size, f in zip(wanted, fractions, strict=True)):
        raise DataError(
            f"{where}: too few triples to hold some out for validation or test: {n - len(free)} of {n} "
            "are needed for training to mention every entity and relation; give more triples, "
            "or a folder with a valid file"
        )
    bounds = np.cumsum(wanted)
    parts = np.split(free[: bounds[-1]], bounds[:-1])
    remains = np.delete(np.arange(n), free[: bounds[-1]])
    return triples[remains], [triples[np.sort(part)] for part in parts]


def _first_mentions(triples: Triples) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows (n,) are the first to mention their head, relation or tail."""
    first = np.zeros(len(triples), np.bool_)
    for names, per_row in ((triples[:, [0, 2]].ravel(), 2), (triples[:, 1], 1)):
        earliest = np.zeros(names.max(initial=-1) + 1, np.int64)
        earliest[names[::-1]] = np.arange(len(names))[::-1]  # the last assignment wins: the earliest row
        first[earliest[names] // per_row] = True
    return first
