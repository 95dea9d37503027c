"""Bayesian optimisation: Optuna's tree-structured Parzen estimator over the cells (Bergstra et al., ICML 2013)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eras.errors import UsageError
from eras.search.space import Candidate, Space, Tokens


def load_optuna() -> Any:
    """The optional package, or how to get it."""
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise UsageError("method bayes needs Optuna; install it with pip install 'eras-kge[bayes]'") from None


class Bayes:
    """Asks an Optuna study for candidates and tells it their rewards; the study is kept in the file at `path`."""

    def __init__(self, space: Space, seed: int, path: Path, start: tuple[Candidate, ...] = ()) -> None:
        optuna = load_optuna()
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space = space
        self.distributions = {
            f"cell {v}": optuna.distributions.CategoricalDistribution(range(space.operations))
            for v in range(space.decisions)
        }
        storage, name = JournalStorage(JournalFileBackend(str(path))), f"{space.groups} groups"
        if name in optuna.get_all_study_names(storage):
            optuna.delete_study(study_name=name, storage=storage)  # a search that goes on asks all its questions again
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        self.study = optuna.create_study(study_name=name, storage=storage, sampler=sampler, direction="maximize")
        for candidate in start:
            self.study.enqueue_trial(dict(zip(self.distributions, space.encode(candidate).tolist(), strict=True)))
        self.asked: list[Any] = []

    def sample(self, count: int) -> Tokens:
        self.asked = [self.study.ask(self.distributions) for _ in range(count)]
        return np.array([[trial.params[cell] for cell in self.distributions] for trial in self.asked], dtype=np.int64)

    def learn(self, tokens: Tokens, rewards: npt.NDArray[np.float64]) -> dict[str, float]:
        for trial, reward in zip(self.asked, rewards.sum(1).tolist(), strict=True):
            self.study.tell(trial, reward)
        return {}
