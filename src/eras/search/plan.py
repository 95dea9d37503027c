"""Settings of a search for a graph nobody has seen: what fits the time, or how much time would fit."""

from __future__ import annotations

import os
from typing import Any

from eras.errors import SettingError
from eras.graph import TrainingView
from eras.scoring import ScoringFunction
from eras.search.config import SearchConfig, method_config
from eras.search.estimators.standalone import epoch_seconds
from eras.search.race import race_epochs
from eras.search.space import Space
from eras.search.start import hand_designed
from eras.training import recommend

DIM = 64
"""Dimension of trials and supernets: enough to tell structures apart."""

FIDELITY = 6
"""A trial trains for one part in so many of the epochs of a full training."""

MOST_TRIAL_EPOCHS = 16
WORTHWHILE = 60
"""Trials that a search should be able to afford."""

LEAST_SECONDS, MOST_SECONDS = 30.0, 30 * 60.0
START_SECONDS = 8.0
"""What starting workers takes."""


def plan_search(
    view: TrainingView, method: str, *, dim: int | None = None, workers: int | None = None, **given: Any
) -> SearchConfig:
    """The settings of a method for a graph; what is `given` stands, and the rest fits to it.

    A time that is too short to be of use is refused, with what would be enough.
    """
    draft = method_config(method, **given)
    Space(draft.blocks, draft.groups)
    if draft.groups > len(view.relations):
        raise SettingError(f"{draft.groups} groups for {len(view.relations)} relations: use fewer groups")
    if not len(view.valid):
        raise SettingError(f"the graph {view.name!r} has no validation triples, which a search is judged by")
    full = recommend(view, draft.blocks)
    training = recommend(view, draft.blocks, dim=dim or DIM - DIM % draft.blocks, seed=draft.seed)
    structure = next(iter(hand_designed(draft.blocks).values()))
    epoch = epoch_seconds(view, ScoringFunction([structure]), training)
    workers = workers or os.cpu_count() or 1
    wanted = max(2, min(MOST_TRIAL_EPOCHS, full.epochs // FIDELITY))
    choose = _for_trials if draft.estimator == "stand-alone" else _for_supernet
    chosen = choose(draft, wanted, epoch, workers)
    return draft.updated(**{"training": training.model_dump(), **chosen, **given})


def _for_trials(draft: SearchConfig, wanted: int, epoch: float, workers: int) -> dict[str, Any]:
    """As many epochs for a trial as leave time for enough trials; as much time as enough trials take."""
    starts = len(hand_designed(draft.blocks))
    if draft.seconds is None:
        affordable = MOST_SECONDS * workers / (epoch * (WORTHWHILE + race_epochs(draft.finalists)))
        epochs = int(max(2, min(wanted, affordable)))
        total = START_SECONDS + epochs * epoch / workers * (2 * WORTHWHILE + race_epochs(draft.finalists))
        return {
            "trial_epochs": epochs,
            "seconds": None if draft.trials else min(MOST_SECONDS, max(LEAST_SECONDS, round(total))),
        }
    needed = START_SECONDS + 2 * epoch / workers * (starts + race_epochs(draft.finalists))
    _refuse_too_short(draft.seconds, needed)
    affordable = (draft.seconds - START_SECONDS) * workers / (epoch * (WORTHWHILE + race_epochs(draft.finalists)))
    return {"trial_epochs": int(max(2, min(wanted, affordable)))}


def _for_supernet(draft: SearchConfig, wanted: int, epoch: float, workers: int) -> dict[str, Any]:
    if draft.seconds is None:
        return {"trial_epochs": wanted, "seconds": MOST_SECONDS}
    _refuse_too_short(draft.seconds, 4 * epoch)
    return {"trial_epochs": wanted, "epochs": 10_000}


def _refuse_too_short(seconds: float, needed: float) -> None:
    if seconds < needed:
        raise SettingError(
            f"{seconds:.0f} s are too short for a search on this graph: it needs at least {needed:.0f} s to be of "
            "any use, and several times as much to be of good use"
        )
