"""From scores to probabilities, fitted on labelled validation triples.

Platt's way, partially pooled: logit = (A + a_r) + (B + b_r)·score, one regression over all relations in which the
relation's own a_r and b_r are drawn to zero. A relation with many labels goes its own way, one with few stays near the
others, one with none is at A and B. On request relations with many labels get a curve that only rises instead, by
isotonic regression.

A probability means: of triples like the labelled ones, this share is true. Where the false ones were made by
corruption, one for each fact, it is the probability of the fact against one such rival.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eras.errors import DataError

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Method = Literal["platt", "isotonic"]
METHODS: tuple[Method, ...] = ("platt", "isotonic")

ENOUGH = 100
"""Labels of each kind from which a relation has an isotonic curve of its own."""

BINS = 15
NEWTON_STEPS = 100


@dataclass(frozen=True, eq=False)
class Calibration:
    """intercept, slope: (n_relations,), slopes positive; steps: relation -> (scores, probabilities), ascending."""

    intercept: Doubles
    slope: Doubles
    steps: dict[int, tuple[Doubles, Doubles]] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, scores: Floats, relation: Ints, truth: Bools, n_relations: int, method: Method = "platt"
    ) -> Calibration:
        exact: Doubles = scores.astype(np.float64)
        steps = {} if method == "platt" else _steps(exact, relation, truth, n_relations)
        return cls(*_platt(exact, relation, truth, n_relations), steps)

    def logits(self, scores: Floats, relation: Ints) -> Doubles:
        """Increasing in the score and comparable between relations; without the steps."""
        return self.intercept[relation] + self.slope[relation] * scores

    def probabilities(self, scores: Floats, relation: Ints) -> Doubles:
        found = sigmoid(self.logits(scores, relation))
        for number, (at, probability) in self.steps.items():
            rows = relation == number
            found[rows] = np.interp(scores[rows], at, probability)
        return found


def _platt(scores: Doubles, relation: Ints, truth: Bools, n_relations: int) -> tuple[Doubles, Doubles]:
    centre, spread = scores.mean(), scores.std() or 1.0
    z = (scores - centre) / spread
    (A, B), own = _regression(np.stack([np.ones_like(z), z], 1), truth, np.full(2, 1e-6), relation, n_relations)
    if B <= 0:
        raise DataError("the scores do not tell true triples from false ones: they cannot be made probabilities")
    a, b = A + own[:, 0], B + own[:, 1]
    falling = b <= 0  # a higher score never makes a triple less probable
    a, b = np.where(falling, A, a), np.where(falling, B, b)
    return a - b * centre / spread, b / spread


def _regression(
    x: Doubles, truth: Bools, ridge: Doubles, group: Ints | None = None, n_groups: int = 1
) -> tuple[Doubles, Doubles]:
    """Logistic regression on x (n, p): shared weights (p,), and each group's own (n_groups, p) to be added to them.

    Own weights have a ridge of 1, the shared ones that of `ridge` (p,). Newton's method: the own weights of a group
    meet only each other and the shared ones, so they can be eliminated group by group. (Libraries that offer a
    regression take longer to import than this takes to run, and every training ends with one.)
    """
    p, of = x.shape[1], np.zeros(len(x), dtype=np.int64) if group is None else group
    eye = np.eye(p)
    shared: Doubles = np.zeros(p)
    own: Doubles = np.zeros((n_groups, p))

    def objective(shared: Doubles, own: Doubles) -> float:
        logits = ((shared + own[of]) * x).sum(1)
        loss = np.logaddexp(0, np.where(truth, -logits, logits)).sum()
        return float(loss + (own**2).sum() / 2 + (ridge * shared**2).sum() / 2)

    now = objective(shared, own)
    for _ in range(NEWTON_STEPS):
        chance = sigmoid(((shared + own[of]) * x).sum(1))
        slopes = _by_group(x * (chance - truth)[:, None], of, n_groups)
        curves = _by_group((x[:, :, None] * x[:, None]) * (chance * (1 - chance))[:, None, None], of, n_groups)
        gradient = slopes.sum(0) + ridge * shared
        if group is None:
            to_shared, to_own = _solve(curves.sum(0) + np.diag(ridge), gradient), np.zeros_like(own)
        else:
            left = curves @ np.linalg.inv(curves + eye)  # C − C (C + 1)⁻¹ C: the curvature once own weights have moved
            pulled = np.einsum("gij,gj->i", left, slopes + own)
            to_shared = _solve(left.sum(0) + np.diag(ridge), gradient - pulled)
            to_own = _solve(curves + eye, slopes + own - curves @ to_shared)
        length, before = 1.0, now
        while (now := objective(shared - length * to_shared, own - length * to_own)) > before and length > 1e-9:
            length /= 2
        shared -= length * to_shared
        own -= length * to_own
        if before - now <= 1e-12 * abs(before):
            break
    return shared, own


def _solve(curvature: Doubles, slope: Doubles) -> Doubles:
    """Newton's step for each of several small problems: (…, p, p), (…, p)."""
    step: Doubles = np.linalg.solve(curvature, slope[..., None])[..., 0].astype(np.float64)
    return step


def _by_group(values: Doubles, group: Ints, n_groups: int) -> Doubles:
    """Sums of the rows of each group."""
    total = np.zeros((n_groups, *values.shape[1:]))
    np.add.at(total, group, values)
    return total


def _steps(scores: Doubles, relation: Ints, truth: Bools, n_relations: int) -> dict[int, tuple[Doubles, Doubles]]:
    from sklearn.isotonic import IsotonicRegression

    fewest = np.minimum(*(np.bincount(relation[kind], minlength=n_relations) for kind in (truth, ~truth)))
    steps = {}
    for number in np.flatnonzero(fewest >= ENOUGH):
        rows = relation == number
        least = 1 / (rows.sum() + 2)  # no finite sample proves a triple
        fitted = IsotonicRegression(y_min=least, y_max=1 - least).fit(scores[rows], truth[rows])
        steps[int(number)] = (fitted.X_thresholds_, fitted.y_thresholds_)
    return steps


@dataclass(frozen=True, eq=False)
class TopOne:
    """Is the first of a ranked list right? logit = intercept + weights · (log odds of its softmax, lead over the next).

    Fitted on validation questions, each of which has an answer among the candidates.
    """

    intercept: float
    weights: tuple[float, float]

    @classmethod
    def fit(cls, signs: Doubles, right: Bools) -> TopOne:
        """signs: (n, 2), what `signs_of` gives; right: (n,)."""
        if right.all() or not right.any():
            share = (right.sum() + 1) / (len(right) + 2)
            return cls(float(np.log(share / (1 - share))), (0.0, 0.0))
        centre, spread = signs.mean(0), signs.std(0)
        spread = np.where(spread > 1e-9, spread, 1.0)
        x = np.column_stack([np.ones(len(signs)), (signs - centre) / spread])
        (intercept, *weights), _ = _regression(x, right, np.array([0.0, 1.0, 1.0]))
        first, second = (np.array(weights) / spread).tolist()
        return cls(float(intercept) - float(centre @ [first, second]), (first, second))

    def probabilities(self, signs: Doubles) -> Doubles:
        return sigmoid(self.intercept + signs @ np.array(self.weights))


def sigmoid(x: Doubles) -> Doubles:
    return np.exp(-np.logaddexp(0, -x))


def reliability(probability: Doubles, truth: Bools) -> list[dict[str, Any]]:
    """For each of the equal bins from 0 to 1 that is not empty: triples, mean probability, share that is true."""
    bins = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    filled = np.flatnonzero(counts)
    means = [np.bincount(bins, values, BINS)[filled] / counts[filled] for values in (probability, truth)]
    return [
        {"low": b / BINS, "high": (b + 1) / BINS, "triples": int(counts[b]), "probability": float(p), "true": float(t)}
        for b, p, t in zip(filled.tolist(), *means, strict=True)
    ]


def quality(probability: Doubles, truth: Bools) -> dict[str, float]:
    """Brier score, log loss and expected calibration error: less is better in all."""
    bins = reliability(probability, truth)
    safe = np.clip(np.where(truth, probability, 1 - probability), 1e-12, 1)
    return {
        "brier": float(((probability - truth) ** 2).mean()),
        "log_loss": float(-np.log(safe).mean()),
        "ece": sum(row["triples"] * abs(row["probability"] - row["true"]) for row in bins) / len(truth),
    }
