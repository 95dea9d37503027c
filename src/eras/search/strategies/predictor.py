"""AutoSF's predictor: from features of structures to the reward that they will earn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eras.search.space import Space
from eras.search.strategies.features import shape_features, symmetry_features, value_features

Floats = npt.NDArray[np.float64]

FEATURES = symmetry_features, shape_features, value_features
PENALTY = 3.0
FOLDS = 5
LEAST = 10
"""Functions that must have been measured before predictions are compared with them."""


class Predictor:
    """A ridge regression on the structures' features, fitted anew with everything that was measured."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.features, self.rewards = np.empty((0, 0)), np.empty(0)

    def fit(self, rows: Sequence[Sequence[int]], rewards: Sequence[float]) -> None:
        self.features, self.rewards = self._features(rows), np.array(rewards)

    def predict(self, rows: Sequence[Sequence[int]]) -> Floats:
        if not len(rows):
            return np.empty(0)
        return self._predict(self.features, self.rewards, self._features(rows))

    def agreement(self) -> float | None:
        """Spearman's ρ between rewards and what is predicted for them by the other functions' alone."""
        from scipy.stats import spearmanr

        if len(self.rewards) < LEAST:
            return None
        fold = np.arange(len(self.rewards)) % FOLDS
        predicted = np.empty(len(self.rewards))
        for k in range(FOLDS):
            rest = fold != k
            predicted[~rest] = self._predict(self.features[rest], self.rewards[rest], self.features[~rest])
        return float(spearmanr(predicted, self.rewards).statistic)

    def _features(self, rows: Sequence[Sequence[int]]) -> Floats:
        found = []
        for row in rows:
            candidate = self.space.decode(np.array(row), constrained=False)
            found.append(np.concatenate([f(s) for s in candidate or () for f in FEATURES]))
        return np.array(found)

    def _predict(self, known: Floats, rewards: Floats, asked: Floats) -> Floats:
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), Ridge(PENALTY)).fit(known, rewards)
        predicted: Floats = model.predict(asked)
        return predicted
