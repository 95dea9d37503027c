"""Settings of a search for a graph nobody has seen: what fits the time, or how much time would fit."""

from __future__ import annotations

from typing import Any

from eras.errors import SettingError
from eras.graph import TrainingView
from eras.graph.patterns import PATTERNS
from eras.scoring import ScoringFunction
from eras.search.config import SearchConfig, method_config
from eras.search.estimators.standalone import Pace, default_workers, measure_pace
from eras.search.race import ENTRANTS
from eras.search.space import Space
from eras.search.start import hand_designed, published
from eras.search.strategies.bayes import load_optuna
from eras.training import recommend

DIM = 64
"""Dimension of trials and supernets, where an epoch's work grows with it."""

FEW_ENTITIES = 2000
"""Below this many, a step takes hardly longer at the dimension of the final training, which tells more."""

NEGATIVES, BATCH = 2048, 512
"""On graphs with many more entities than that, trials and supernets compare answers with a sample of entities: as good
for telling structures apart, at a fraction of the time."""

FIDELITY = 6
"""A trial trains for one part in so many of the epochs of a full training."""

MOST_TRIAL_EPOCHS = 16
USUAL_END = 0.6
"""The share of its epochs after which a full training usually ends; in the finals all train for so long."""

WORTHWHILE = 60
"""Trials that a search should be able to afford."""

LEAST_SECONDS, MOST_SECONDS = 30.0, 20 * 60.0
FINALS_SHARE = 0.4
"""How much of the time the finals may take, if they are to be more than the shortest ones."""

REPLICAS = 3
"""Full trainings of each function in a round of the finals, where the time allows: luck counts for less."""

START_SECONDS = 8.0
"""What starting workers takes."""


def plan_search(
    view: TrainingView,
    method: str,
    *,
    dim: int | None = None,
    workers: int | None = None,
    device: str = "cpu",
    **given: Any,
) -> SearchConfig:
    """The settings of a method for a graph; what is `given` stands, and the rest fits to it.

    A time that is too short to be of use is refused, with what would be enough.
    """
    draft = method_config(method, **given)
    if draft.strategy == "bayes":
        load_optuna()
    if "groups" not in given and draft.groups > 1:
        patterns = draft.grouping == "pattern"
        draft = draft.updated(groups=min(len(PATTERNS) if patterns else draft.groups, len(view.relations)))
    Space(draft.blocks, draft.groups)
    if draft.groups > len(view.relations):
        raise SettingError(f"{draft.groups} groups for {len(view.relations)} relations: use fewer groups")
    if not len(view.valid):
        raise SettingError(f"the graph {view.name!r} has no validation triples, which a search is judged by")
    full = recommend(view, draft.blocks)
    size = dim or (full.dim if len(view.entities) < FEW_ENTITIES else DIM - DIM % draft.blocks)
    training = recommend(view, draft.blocks, dim=size, seed=draft.seed, device=device, **cheaper(view))
    structure = next(iter(published(draft.blocks).values()))
    pace = measure_pace(view, ScoringFunction([structure]), training)
    workers = workers or default_workers(view, training)
    trial_epochs = max(2, min(MOST_TRIAL_EPOCHS, full.epochs // FIDELITY))
    chosen = {
        "training": training.model_dump(),
        "trial_epochs": trial_epochs,
        "most_epochs": max(trial_epochs, round(USUAL_END * full.epochs)),
    }
    draft = draft.updated(**{**chosen, **given})
    choose = _for_trials if draft.estimator == "stand-alone" else _for_supernet
    settled = {**choose(draft, pace, workers), **given}
    if "epochs" in given and "seconds" not in given:
        settled["seconds"] = None
    plan = draft.updated(**settled)
    if plan.estimator == "one-shot" and "reserve" not in given:
        plan = plan.updated(reserve=round(_finals_seconds(plan, _rivals(plan), pace, workers), 1))
    return plan


def cheaper(view: TrainingView) -> dict[str, Any]:
    """Settings that make an epoch of a large graph cheap."""
    return {"negatives": NEGATIVES, "batch_size": BATCH} if len(view.entities) > 4 * NEGATIVES else {}


def _for_trials(draft: SearchConfig, pace: Pace, workers: int) -> dict[str, Any]:
    """Where epochs are dear, shorter trials and smaller finals; where no time is given, enough for the usual trials."""
    shortest = _plans(draft)[-1]
    least = _seconds(shortest, len(published(draft.blocks)), pace, workers)
    limit = _limit(draft, least)
    affordable = (1 - FINALS_SHARE) * limit * workers / WORTHWHILE
    epochs = max((e for e in range(2, draft.trial_epochs + 1) if pace.trial(e) <= affordable), default=2)
    plan = _affordable(draft.updated(trial_epochs=epochs), _rivals(draft), pace, workers, limit)
    chosen: dict[str, Any] = _finals(plan)
    if draft.seconds is None and draft.trials is None:
        usual = _seconds(plan, 2 * WORTHWHILE, pace, workers)
        chosen["seconds"] = round(max(LEAST_SECONDS, least, min(MOST_SECONDS, usual)))
    return chosen


def _for_supernet(draft: SearchConfig, pace: Pace, workers: int) -> dict[str, Any]:
    """All the epochs that the time allows; where no time is given, the usual number, bounded by the clock."""
    rivals, shortest = _rivals(draft), _plans(draft)[-1]
    limit = _limit(draft, 4 * pace.epoch + _finals_seconds(shortest, rivals, pace, workers))
    plan = _affordable(draft, rivals, pace, workers, limit)
    return {**_finals(plan), "seconds": limit, **({"epochs": 10_000} if draft.seconds else {})}


def _rivals(draft: SearchConfig) -> int:
    """How many hand-designed functions have a trial before the finals."""
    return draft.rivals * len(hand_designed(draft.blocks))


def _plans(draft: SearchConfig) -> list[SearchConfig]:
    """Finals from large to small."""
    some, few = min(4, draft.finalists), min(2, draft.finalists)
    return [
        draft.updated(replicas=REPLICAS, promotions=2),
        draft.updated(replicas=REPLICAS),
        draft,
        draft.updated(finalists=some),
        draft.updated(finalists=few),
        draft.updated(finalists=some, most_epochs=min(draft.most_epochs, 3 * draft.trial_epochs)),
        draft.updated(finalists=few, most_epochs=min(draft.most_epochs, 6), trial_epochs=2),
    ]


def _affordable(draft: SearchConfig, rivals: int, pace: Pace, workers: int, limit: float) -> SearchConfig:
    """The largest finals that take no more than their share of the time, or the smallest of all."""
    plans = _plans(draft)
    fitting = (p for p in plans if _finals_seconds(p, rivals, pace, workers) <= FINALS_SHARE * limit)
    return next(fitting, plans[-1])


def _finals_seconds(plan: SearchConfig, rivals: int, pace: Pace, workers: int) -> float:
    """What finals will take; a one-shot search has to try their entrants first."""
    if not plan.finalists:
        return 0.0
    entrants = ENTRANTS * plan.finalists if plan.estimator == "one-shot" else 0
    return _seconds(plan, entrants + rivals, pace, workers)


def _seconds(plan: SearchConfig, trials: int, pace: Pace, workers: int) -> float:
    """What so many trials and the finals take."""
    finals = plan.replicas * sum(plan.ladder.rungs) * pace.trial(plan.most_epochs)
    return START_SECONDS + (trials * pace.trial(plan.trial_epochs) + finals) / workers


def _finals(plan: SearchConfig) -> dict[str, int]:
    return {key: getattr(plan, key) for key in ("trial_epochs", "finalists", "promotions", "replicas", "most_epochs")}


def _limit(draft: SearchConfig, needed: float) -> float:
    """The time that there is; refused where it is too short."""
    if draft.seconds is not None and draft.seconds < needed:
        raise SettingError(
            f"{draft.seconds:.0f} s are too short for a search on this graph: it needs at least {needed:.0f} s to be "
            "of any use, and several times as much to be of good use"
        )
    return draft.seconds or MOST_SECONDS
