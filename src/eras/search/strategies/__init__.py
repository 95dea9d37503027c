"""Strategies: what proposes candidates, as rows of tokens, and learns from their rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from eras.search.config import SearchConfig
from eras.search.space import Candidate, Space, Tokens
from eras.search.strategies.autosf import AutoSF
from eras.search.strategies.bayes import Bayes
from eras.search.strategies.categorical import Categorical
from eras.search.strategies.evolution import Evolution
from eras.search.strategies.lstm import Policy
from eras.search.strategies.random import Random
from eras.search.strategies.relaxed import Relaxed

Rewards = npt.NDArray[np.float64]
"""(count, N): what each candidate earns in each group. Its reward is the row's sum."""


class Strategy(Protocol):
    def sample(self, count: int) -> Tokens:
        """(count, V) tokens of candidates to judge; fewer where there are no more."""
        ...

    def learn(self, tokens: Tokens, rewards: Rewards) -> dict[str, float]:
        """Take rewards in; what the journal wants to know about it."""
        ...


class Resumable(Strategy, Protocol):
    """A strategy that can be saved; what it learned need not be told to it again."""

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the future depends on."""
        ...

    def restore(self, state: dict[str, Tensor]) -> None: ...


def for_supernet(config: SearchConfig, space: Space) -> Resumable | Relaxed:
    """The strategy of a one-shot search."""
    if config.strategy == "lstm":
        return Policy(space, config.seed, config.entropy_bonus, config.policy_lr)
    if config.strategy == "categorical":
        return Categorical(space, config.seed, config.entropy_bonus)
    if config.strategy == "relaxed":
        return Relaxed(space, config.seed)
    return Evolution(space, config.seed)


def for_trials(config: SearchConfig, space: Space, start: tuple[Candidate, ...], folder: Path) -> Strategy:
    """The strategy of a stand-alone search.

    `start` holds candidates to begin with. AutoSF, random search and Bayes as published begin with none; they are
    given some where groups start from what single structures have shown.
    """
    known = start if space.groups > 1 else ()
    if config.strategy == "random":
        return Random(space, config.seed)
    if config.strategy == "bayes":
        return Bayes(space, config.seed, folder / "study.jsonl", known)
    if config.strategy == "autosf":
        return AutoSF(
            space,
            config.seed,
            known,
            added=config.added,
            cells=config.cells,
            candidates=config.candidates,
            evolving=config.evolving,
        )
    if config.strategy == "categorical":
        return Categorical(space, config.seed, config.entropy_bonus, start)
    return Evolution(space, config.seed, start)


__all__ = ["Relaxed", "Resumable", "Rewards", "Strategy", "for_supernet", "for_trials"]
