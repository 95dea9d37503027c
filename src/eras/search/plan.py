"""Settings of a search for a graph nobody has seen: what fits the time, or how much time would fit."""

from __future__ import annotations

from typing import Any

from eras.errors import SettingError
from eras.graph import TrainingView
from eras.graph.patterns import PATTERNS
from eras.scoring import ScoringFunction
from eras.search.config import METHODS, SearchConfig, method_config
from eras.search.estimators.standalone import default_workers, epoch_seconds
from eras.search.race import ENTRANTS
from eras.search.space import Space
from eras.search.start import hand_designed
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
WORTHWHILE = 60
"""Trials that a search should be able to afford."""

LEAST_SECONDS, MOST_SECONDS = 30.0, 20 * 60.0
FINALS_SHARE = 0.4
"""How much of the time the finals of a one-shot search may take."""

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
    if "groups" not in given and "groups" not in METHODS[method][0]:
        patterns = draft.grouping == "pattern"
        draft = draft.updated(groups=min(len(PATTERNS) if patterns else draft.groups, len(view.relations)))
    Space(draft.blocks, draft.groups)
    if draft.groups > len(view.relations):
        raise SettingError(f"{draft.groups} groups for {len(view.relations)} relations: use fewer groups")
    if not len(view.valid):
        raise SettingError(f"the graph {view.name!r} has no validation triples, which a search is judged by")
    full = recommend(view, draft.blocks)
    sampled = {"negatives": NEGATIVES, "batch_size": BATCH} if len(view.entities) > 4 * NEGATIVES else {}
    size = dim or (full.dim if len(view.entities) < FEW_ENTITIES else DIM - DIM % draft.blocks)
    training = recommend(view, draft.blocks, dim=size, seed=draft.seed, device=device, **sampled)
    structure = next(iter(hand_designed(draft.blocks).values()))
    epoch = epoch_seconds(view, ScoringFunction([structure]), training)
    workers = workers or default_workers()
    trial_epochs = max(2, min(MOST_TRIAL_EPOCHS, full.epochs // FIDELITY))
    chosen = {"training": training.model_dump(), "trial_epochs": trial_epochs, "most_epochs": full.epochs}
    draft = draft.updated(**{**chosen, **given})
    choose = _for_trials if draft.estimator == "stand-alone" else _for_supernet
    settled = {**choose(draft, epoch, workers), **given}
    if "epochs" in given and "seconds" not in given:
        settled["seconds"] = None
    return draft.updated(**settled)


def _for_trials(draft: SearchConfig, epoch: float, workers: int) -> dict[str, Any]:
    """Where epochs are dear: shorter trials, and fewer promotions; where no time is given: enough for the trials."""
    starts = len(hand_designed(draft.blocks))
    shortest = draft.updated(trial_epochs=2, finalists=2, promotions=1)
    least = START_SECONDS + 2 * epoch / workers * (starts + shortest.ladder.trials)
    if draft.seconds is not None:
        _refuse_too_short(draft.seconds, least)

    def seconds(plan: SearchConfig, trials: int) -> float:
        return START_SECONDS + plan.trial_epochs * epoch / workers * (trials + plan.ladder.trials)

    limit = draft.seconds or MOST_SECONDS
    while seconds(draft, WORTHWHILE) > limit and draft.trial_epochs > 2:
        draft = draft.updated(trial_epochs=draft.trial_epochs - 1)
    if seconds(draft, WORTHWHILE) > limit:
        draft = shortest
    chosen = {"trial_epochs": draft.trial_epochs, "finalists": draft.finalists, "promotions": draft.promotions}
    if draft.seconds is None and draft.trials is None:
        chosen["seconds"] = round(max(LEAST_SECONDS, least, min(MOST_SECONDS, seconds(draft, 2 * WORTHWHILE))))
    return chosen


def _for_supernet(draft: SearchConfig, epoch: float, workers: int) -> dict[str, Any]:
    """All the epochs that the time allows; where no time is given, the usual number, bounded by the clock."""

    def finals(plan: SearchConfig) -> float:
        trials = ENTRANTS * plan.finalists + plan.ladder.trials
        return START_SECONDS + plan.trial_epochs * epoch / workers * trials if plan.finalists else 0.0

    shortest = draft.updated(trial_epochs=2, finalists=min(2, draft.finalists), promotions=1)
    if draft.seconds is not None:
        _refuse_too_short(draft.seconds, 4 * epoch + finals(shortest))
    limit = draft.seconds or MOST_SECONDS
    if finals(draft) > FINALS_SHARE * limit:
        draft = shortest
    return {
        "trial_epochs": draft.trial_epochs,
        "finalists": draft.finalists,
        "promotions": draft.promotions,
        "reserve": round(finals(draft), 1),
        "seconds": limit,
        **({"epochs": 10_000} if draft.seconds else {}),
    }


def _refuse_too_short(seconds: float, needed: float) -> None:
    if seconds < needed:
        raise SettingError(
            f"{seconds:.0f} s are too short for a search on this graph: it needs at least {needed:.0f} s to be of "
            "any use, and several times as much to be of good use"
        )
