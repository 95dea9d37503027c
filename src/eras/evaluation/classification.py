"""Is a triple true? A threshold for each relation, and how often it is right.

A triple is held to be true if its score reaches the threshold of its relation: the one that is right most often on
labelled validation triples. It is found exactly: after one sort the number of right answers at every cut is a running
sum. Of cuts that are equally often right, the one in the widest gap between scores is taken. A relation that has not
both kinds of labels gets the threshold of all labels pooled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MEASURES = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision")


@dataclass(frozen=True, eq=False)
class Thresholds:
    """of: (n_relations,); own: which relations have a threshold of their own."""

    of: npt.NDArray[np.float64]
    own: Bools
    pooled: float

    @classmethod
    def fit(cls, scores: Floats, relation: Ints, truth: Bools, n_relations: int) -> Thresholds:
        exact: npt.NDArray[np.float64] = scores.astype(np.float64)
        pooled = float(_best_cuts(exact, np.zeros_like(relation), truth, 1)[0])
        true, false = (np.bincount(relation[kind], minlength=n_relations) for kind in (truth, ~truth))
        own = (true > 0) & (false > 0)
        return cls(np.where(own, _best_cuts(exact, relation, truth, n_relations), pooled), own, pooled)

    def above(self, scores: Floats, relation: Ints) -> npt.NDArray[np.float64]:
        """How far each score is above its threshold; from 0 on a triple is held to be true."""
        return np.asarray(scores.astype(np.float64) - self.of[relation])


def _best_cuts(scores: npt.NDArray[np.float64], group: Ints, truth: Bools, n_groups: int) -> npt.NDArray[np.float64]:
    """(n_groups,): the threshold that is right most often in each group; NaN where a group is empty.

    Cut number i lies below the i-th score of the sorted triples, so that it and all above it are held to be true.
    """
    order = np.lexsort((scores, group))
    scores, group, truth = scores[order], group[order], truth[order]
    first = np.searchsorted(group, np.arange(n_groups))
    inner = np.ones(len(scores), dtype=bool)
    inner[first[np.bincount(group, minlength=n_groups) > 0]] = False
    before = np.where(inner, np.roll(scores, 1), scores)
    # Right answers at a cut, less those at the lowest cut of the group: false triples below it less true ones.
    one = np.where(truth, -1, 1)
    total = np.cumsum(one)
    gain = total - one
    start = gain[first[group]]
    gain = gain - start
    possible = ~inner | (scores > before)
    middle = (before + scores) / 2
    cut = np.where(middle > before, middle, scores)

    # Holding all of a group to be false is a cut as well, above its last score.
    last = np.flatnonzero(np.append(group[1:] != group[:-1], True)) if len(group) else np.empty(0, np.int64)
    cuts = np.concatenate([cut[possible], np.nextafter(scores[last], np.inf)])
    gains = np.concatenate([gain[possible], (total - start)[last]])
    widths = np.concatenate([(scores - before)[possible], np.zeros(len(last))])
    groups = np.concatenate([group[possible], group[last]])

    best = np.full(n_groups, np.nan)
    ranked = np.lexsort((widths, gains, groups))
    best[groups[ranked]] = cuts[ranked]  # the last of each group is the best
    return best


def judge(thresholds: Thresholds, scores: Floats, relation: Ints, truth: Bools) -> dict[str, Any]:
    """Measures over labelled triples; those that need both kinds are None where one is missing.

    Areas under curves rank triples by their distance from the threshold, which takes out where a relation's scores lie,
    not how far they spread.
    """
    margin = thresholds.above(scores, relation)
    held, true, false = margin >= 0, int(truth.sum()), int((~truth).sum())
    found = {"triples": len(truth), "true": true, "accuracy": float((held == truth).mean())}
    if not true or not false:
        return {**found, **dict.fromkeys(MEASURES[1:])}
    hits = int((held & truth).sum())
    order = np.argsort(-margin, kind="stable")
    level = np.append(np.diff(margin[order]) != 0, True)  # where a new value begins after this one
    above = np.cumsum(truth[order])[level]
    wrong = np.flatnonzero(level) + 1 - above
    gained = np.diff(above, prepend=0)
    return {
        **found,
        "balanced_accuracy": (hits / true + float((~held & ~truth).sum()) / false) / 2,
        "f1": 2 * hits / (true + int(held.sum())),
        "roc_auc": float((np.diff(wrong, prepend=0) * (above - gained / 2)).sum()) / (true * false),
        "average_precision": float((gained * above / (above + wrong)).sum()) / true,
    }


def judge_relations(thresholds: Thresholds, scores: Floats, relation: Ints, truth: Bools) -> list[dict[str, Any]]:
    """The same for each relation that has labelled triples, by id, most triples first."""
    order = np.argsort(relation, kind="stable")
    present, starts = np.unique(relation[order], return_index=True)
    rows = [
        {
            "relation": int(number),
            "threshold": float(thresholds.of[number]),
            "own_threshold": bool(thresholds.own[number]),
            **judge(thresholds, scores[rows], relation[rows], truth[rows]),
        }
        for number, rows in zip(present, np.split(order, starts[1:]), strict=True)
    ]
    return sorted(rows, key=lambda row: -row["triples"])
