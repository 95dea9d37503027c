"""Several models on the same triples, class by class: intervals, gaps to the best, and whether a gap may be chance.

A fact that is easy to find from one side tends to be easy from the other, so the two ranks of a triple are not
independent: what is resampled, or swapped between models, is the triple with all its ranks in the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.errors import UnknownNameError, UsageError
from eras.evaluation.protocol import BREAKDOWNS, Evaluation
from eras.graph.queries import Ints

Floats = npt.NDArray[np.float64]

CONTRASTED = ("mrr", "hits@1", "hits@10")
RESAMPLES = 1_000
FLIPS = 9_999
CELLS = 1 << 19
"""Numbers drawn at a time, at most, where a class is not larger: draws × triples."""

_TRIPLE = ("head", "relation", "tail")


def contrast(evaluations: Mapping[str, Evaluation], by: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """A row for all ranks, then one for each class of the column `by`, most ranks first.

    Each holds the class, its number of `triples` and `ranks`, and `runs`: for every evaluation, in the order given,
    `run`, the metrics with the ends of their 95 % intervals (`mrr`, `mrr_low`, `mrr_high`, …), the `gap` of its MRR to
    the best one of the class (0 or below), and `p` of that gap under chance, adjusted for all tests of the table; None
    for the best run itself.
    """
    if by not in BREAKDOWNS:
        raise UnknownNameError("breakdown", by, BREAKDOWNS)
    tables = _same_triples(evaluations)
    values = np.stack([_values(table) for table in tables], axis=1)
    triple = tables[0].select(pl.struct(_TRIPLE).rle_id()).to_series().to_numpy()
    resampling, flipping = np.random.default_rng(seed).spawn(2)  # intervals do not depend on which runs are compared
    rows = []
    for name, ranks in _classes(tables[0], by):
        sums, counts = _by_triple(values[ranks], triple[ranks])
        about = {by: name, "triples": len(counts), "ranks": len(ranks)}
        rows.append(about | {"runs": _runs(list(evaluations), sums, counts, resampling, flipping)})
    _adjust(rows, len(evaluations))
    return rows


def _same_triples(evaluations: Mapping[str, Evaluation]) -> list[pl.DataFrame]:
    """The rank tables in one order of rows, in which the ranks of a triple stand together."""
    if not evaluations:
        raise UsageError("there is nothing to compare: give one evaluation or more")
    key = [*_TRIPLE, "side"]
    tables = {name: evaluation.table.sort(key) for name, evaluation in evaluations.items()}
    (first, table), *others = tables.items()
    for name, other in others:
        if not table.select(key).equals(other.select(key)):
            raise UsageError(
                f"{first} and {name} did not rank the same triples: compare runs of one graph, on one split"
            )
    return list(tables.values())


def _values(table: pl.DataFrame) -> Floats:
    """(ranks, metrics): what each rank adds to the mean that is a metric."""
    rank = (table["low"] + table["high"]).to_numpy() / 2
    return np.stack([1 / rank, rank <= 1, rank <= 10], axis=1)


def _classes(table: pl.DataFrame, by: str) -> Iterator[tuple[str, Ints]]:
    """Name and rows of each class, the whole table first."""
    yield "all", np.arange(len(table))
    grouped = table.with_row_index("row").group_by(by).agg("row")
    for name, rows in grouped.sort([pl.col("row").list.len(), by], descending=[True, False]).iter_rows():
        yield name, np.array(rows)


def _by_triple(values: Floats, triple: Ints) -> tuple[Floats, Ints]:
    """Sums of the values, (triples, runs, metrics), and the number of ranks of each triple."""
    starts = np.flatnonzero(np.diff(triple, prepend=-1))
    return np.add.reduceat(values, starts, axis=0), np.diff(starts, append=len(triple))


def _runs(
    names: list[str], sums: Floats, counts: Ints, resampling: np.random.Generator, flipping: np.random.Generator
) -> list[dict[str, Any]]:
    means = sums.sum(0) / counts.sum()
    low, high = np.quantile(_resampled(sums, counts, resampling), (0.025, 0.975), axis=0)
    best = int(means[:, 0].argmax())
    others = [run for run in range(len(names)) if run != best]
    p = dict(zip(others, chances(sums[:, [best], 0] - sums[:, others, 0], flipping).tolist(), strict=True))
    rows = []
    for run, name in enumerate(names):
        row: dict[str, Any] = {"run": name}
        for number, metric in enumerate(CONTRASTED):
            row[metric] = float(means[run, number])
            row |= {f"{metric}_low": float(low[run, number]), f"{metric}_high": float(high[run, number])}
        rows.append(row | {"gap": float(means[run, 0] - means[best, 0]), "p": p.get(run)})
    return rows


def _resampled(sums: Floats, counts: Ints, rng: np.random.Generator) -> Floats:
    """(resamples, runs, metrics): the metrics of as many triples, drawn with replacement, the same for all runs."""
    n = len(counts)
    summed = np.column_stack([counts, sums.reshape(n, -1)])
    parts = []
    for size in _parts(RESAMPLES, n):
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        parts.append(times @ summed)
    totals = np.concatenate(parts)
    return (totals[:, 1:] / totals[:, :1]).reshape(-1, *sums.shape[1:])


def chances(differences: Floats, rng: np.random.Generator) -> Floats:
    """Two-sided p of each column of differences (triples, columns), by the paired randomisation test.

    If two models were equally good, each difference could as well have had the other sign. p is the share of random
    signs that take the sum at least as far from 0 as it is, the true signs counted in. Where no random ones do, p is at
    most 1 / (FLIPS + 1), too coarse for tables of many classes: there Hoeffding's bound stands if it is lower.
    """
    differences = differences[differences.any(1)]
    n, total, size = len(differences), differences.sum(0), np.abs(differences).sum(0)
    as_far = np.zeros(len(total), dtype=np.int64)
    for flips in _parts(FLIPS, n):
        drawn = rng.integers(256, size=(flips, -(-n // 8)), dtype=np.uint8)
        kept = np.unpackbits(drawn, axis=1, count=n).astype(np.float64)
        flipped = 2 * (kept @ differences) - total
        as_far += (np.abs(flipped) >= np.abs(total) - 1e-12 * size).sum(0)  # equal sums may differ by rounding
    p: Floats = (1 + as_far) / (1 + FLIPS)
    never = as_far == 0
    bound = 2 * np.exp(-(total[never] ** 2) / (2 * (differences[:, never] ** 2).sum(0)))
    p[never] = np.minimum(p[never], bound)
    return p


def holm(p: Sequence[float], tests: int) -> list[float]:
    """p values adjusted by Holm's method for that many tests, of which those not given count as the least certain."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p)[order] * (tests - np.arange(len(p)))))
    return [float(value) for value in adjusted]


def _adjust(rows: list[dict[str, Any]], runs: int) -> None:
    """Replace p by what it is worth among all tests of the table.

    Which run is best shows only in the ranks, so every pair of runs in every class counts as tested.
    """
    tested = [run for row in rows for run in row["runs"] if run["p"] is not None]
    for run, p in zip(tested, holm([run["p"] for run in tested], len(rows) * runs * (runs - 1) // 2), strict=True):
        run["p"] = p


def _parts(draws: int, n: int) -> Iterator[int]:
    """So many draws of n numbers in parts that fit `CELLS`."""
    most = max(1, CELLS // max(1, n))
    for start in range(0, draws, most):
        yield min(most, draws - start)
