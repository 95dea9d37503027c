"""From scores to probabilities, fitted on labelled validation triples.

Platt's way, partially pooled: logit = (A + a_r) + (B + b_r)·score, one regression over all relations in which the
relation's own a_r and b_r are drawn to zero. A relation with many labels goes its own way, one with few stays near the
others, one with none is at A and B. On request relations with many labels get a curve that only rises instead, by
isotonic regression.

A probability means: of triples like the labelled ones, this share is true. Where the false ones were made by
corruption, one for each fact, it is the probability of the fact against one such rival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

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
    z, group, label = torch.from_numpy((scores - centre) / spread), torch.from_numpy(relation), torch.from_numpy(truth)
    shared, own = torch.zeros(2, dtype=torch.double), torch.zeros(2, n_relations, dtype=torch.double)

    def loss() -> Tensor:
        intercept, slope = shared[:, None] + own
        return _log_loss(intercept[group] + slope[group] * z, label) + own.square().sum() / 2

    _minimise(loss, shared, own)
    A, B = shared.tolist()
    if B <= 0:
        raise DataError("the scores do not tell true triples from false ones: they cannot be made probabilities")
    a, b = (shared[:, None] + own).detach().numpy()
    falling = b <= 0  # a higher score never makes a triple less probable
    a, b = np.where(falling, A, a), np.where(falling, B, b)
    return a - b * centre / spread, b / spread


def _log_loss(logits: Tensor, truth: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits, truth.double(), reduction="sum")


def _minimise(loss: Callable[[], Tensor], *parameters: Tensor) -> None:
    """A convex loss, by L-BFGS: scikit-learn's regression takes longer to import than to run."""
    for parameter in parameters:
        parameter.requires_grad_()
    optimiser = torch.optim.LBFGS(
        parameters, max_iter=500, tolerance_grad=1e-6, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return value

    optimiser.step(closure)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    for parameter in parameters:
        parameter.requires_grad_(False)


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
        x, label = torch.from_numpy((signs - centre) / spread), torch.from_numpy(right)
        intercept, weights = torch.zeros((), dtype=torch.double), torch.zeros(2, dtype=torch.double)
        _minimise(lambda: _log_loss(intercept + x @ weights, label) + weights.square().sum() / 2, intercept, weights)
        first, second = (weights.numpy() / spread).tolist()
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
