"""Every setting of a search, in one frozen, typed place, and the searchers that have a name.

A search is a product of choices: a strategy proposes candidates, an estimator judges them, a grouping says which
relations share a structure. Each named method is a point in that product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eras.errors import SettingError, UnknownNameError
from eras.search.ladder import Ladder
from eras.training.config import TrainConfig


class SearchConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    strategy: Literal["lstm", "categorical", "evolution", "relaxed", "autosf", "random", "bayes"] = Field(
        "evolution", description="What proposes structures."
    )
    estimator: Literal["stand-alone", "one-shot"] = Field("stand-alone", description="What judges them.")
    measure: Literal["mrr", "loss", "train-mrr"] = Field("mrr", description="What a one-shot reward is read from.")
    grouping: Literal["auto", "em", "pattern", "pretrained", "reward"] = Field(
        "auto",
        description="How relations are grouped: by embeddings in every epoch (em), by relation pattern, by the "
        "embeddings of a trained SimplE, by reward; auto is em for one-shot searches, the best for stand-alone ones.",
    )
    blocks: int = Field(4, description="M: blocks of an embedding, 2 to 6.")
    groups: int = Field(3, description="N: groups of relations, each with a structure of its own, 1 to 8.")
    seconds: float | None = Field(None, gt=0, description="Time for the search; what is due then is still finished.")
    seed: int = Field(0, ge=0, description="Decides everything that is random.")
    training: TrainConfig = Field(TrainConfig(), description="How the supernet, or a trial, is trained.")

    epochs: int = Field(20, ge=1, description="One-shot: epochs of the supernet, each followed by policy steps.")
    functions: int = Field(8, ge=1, description="One-shot: U, the candidates that share a training or policy step.")
    sampling: Literal["strategy", "fair"] = Field(
        "strategy",
        description="One-shot: the supernet trains U candidates of the strategy in a step, or 2M + 1 that hold each "
        "operation of each cell once.",
    )
    anchored: bool = Field(True, description="One-shot: rename relation blocks so that row i carries +r_i.")
    policy_steps: int = Field(20, ge=1, description="One-shot: steps of the strategy after each epoch.")
    reward_batch: int = Field(512, ge=1, description="One-shot: validation triples that a step's candidates share.")
    policy_lr: float = Field(3.5e-4, gt=0, description="Learning rate of the LSTM policy; the paper's.")
    entropy_bonus: float = Field(0.0, ge=0, description="Weight of the policy's entropy in its objective.")
    derive: int = Field(30, ge=1, description="One-shot: K, candidates sampled at the end and ranked on validation.")

    reserve: float = Field(0.0, ge=0, description="One-shot: seconds of the time that are kept for the finals.")

    trials: int | None = Field(None, ge=1, description="Stand-alone: functions to try, at most.")
    trial_epochs: int = Field(4, ge=1, description="Epochs of a trial.")
    generation: int = Field(8, ge=1, description="Stand-alone: functions proposed at a time.")
    added: int = Field(2, ge=1, description="AutoSF: cells that a step adds.")
    cells: int | None = Field(None, ge=2, description="AutoSF: B, filled cells of the largest structures; 3 M.")
    candidates: int = Field(256, ge=1, description="AutoSF: functions that the predictor chooses from in each round.")
    evolving: bool = Field(False, description="AutoSF: candidates by mutation and crossover instead of growth.")
    finalists: int = Field(6, ge=0, description="Functions trained in full before the last choice; 0 for none.")
    rivals: bool = Field(
        True,
        description="The hand-designed functions have a trial too and compete for places in the finals.",
    )
    promotions: int = Field(
        1, ge=1, le=4, description="Rounds of full trainings; half of the finalists go on each time."
    )
    replicas: int = Field(1, ge=1, le=9, description="Full trainings of each function in a round.")
    most_epochs: int = Field(100, ge=1, description="Epochs of a full training in a search.")

    @property
    def ladder(self) -> Ladder:
        return Ladder(self.trial_epochs, self.finalists, self.promotions, self.most_epochs, self.replicas)

    def updated(self, **changes: Any) -> SearchConfig:
        """A copy with other values; an impossible value is a `SettingError`."""
        return _checked({**self.model_dump(), **changes})


@dataclass(frozen=True)
class Method:
    """What a searcher's name stands for: settings that make it what it is, and its usual number of groups."""

    settings: dict[str, Any]
    summary: str
    groups: int = 3


def _stand_alone(strategy: str, **settings: Any) -> dict[str, Any]:
    return {"strategy": strategy, "estimator": "stand-alone", **settings}


def _one_shot(strategy: str, **settings: Any) -> dict[str, Any]:
    return {"strategy": strategy, "estimator": "one-shot", **settings}


METHODS: dict[str, Method] = {
    "evolution": Method(
        _stand_alone("evolution"),
        "evolution on short stand-alone trainings; groups start from the best single structures",
    ),
    "policy": Method(
        _stand_alone("categorical"),
        "a factorised categorical policy on short stand-alone trainings",
    ),
    "autosf": Method(
        _stand_alone("autosf"),
        "AutoSF: structures grow cell by cell, and a predictor chooses which are trained",
        groups=1,
    ),
    "autosf-evolution": Method(
        _stand_alone("autosf", evolving=True),
        "AutoSF's successor: its candidates come by mutation and crossover",
        groups=1,
    ),
    "random": Method(
        _stand_alone("random"),
        "functions drawn uniformly under the constraint",
        groups=1,
    ),
    "bayes": Method(
        _stand_alone("bayes"),
        "Bayesian optimisation: the tree-structured Parzen estimator of Optuna",
        groups=1,
    ),
    "evolution-oneshot": Method(
        _one_shot("evolution"),
        "evolution on the rewards of a supernet",
    ),
    "policy-oneshot": Method(
        _one_shot("categorical"),
        "a factorised categorical policy on the rewards of a supernet, credited by group",
    ),
    "eras": Method(
        _one_shot("lstm", grouping="em"),
        "the paper's Algorithm 2: LSTM policy, supernet, EM grouping",
    ),
    "eras-n1": Method(
        _one_shot("lstm", grouping="em", groups=1),
        "ERAS with a single group",
    ),
    "eras-los": Method(
        _one_shot("lstm", grouping="em", measure="loss"),
        "ERAS rewarded by the validation loss",
    ),
    "eras-dif": Method(
        _one_shot("relaxed", grouping="em", measure="loss"),
        "ERAS with a differentiable search: discrete forward, continuous update",
    ),
    "eras-sig": Method(
        _one_shot("lstm", grouping="em", measure="train-mrr"),
        "ERAS on a single level: rewarded on training triples",
    ),
    "eras-pde": Method(
        _one_shot("lstm", grouping="pretrained"),
        "ERAS with relations grouped once, by the embeddings of a trained SimplE",
    ),
    "eras-smt": Method(
        _one_shot("lstm", grouping="pattern"),
        "ERAS with relations grouped once, by relation pattern",
    ),
}


def method_config(method: str, **given: Any) -> SearchConfig:
    """The settings of a named method, with those given in their place."""
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    settings = METHODS[method].settings
    _refuse_foreign(settings, given)
    clash = [key for key, value in settings.items() if key in given and given[key] != value]
    if clash:
        raise SettingError(f"method {method} means {clash[0]} = {settings[clash[0]]!r}, not {given[clash[0]]!r}")
    return _checked({"groups": METHODS[method].groups, **settings, **given})


ONLY = {
    ("estimator", "one-shot"): (
        "epochs", "functions", "sampling", "anchored", "policy_steps", "policy_lr", "reward_batch", "derive", "reserve",
    ),
    ("estimator", "stand-alone"): ("trials", "generation"),
    ("strategy", "autosf"): ("added", "cells", "candidates"),
}  # fmt: skip
"""Settings that mean something to some searches alone."""


def _refuse_foreign(settings: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse a setting that would do nothing."""
    for (kind, value), names in ONLY.items():
        unused = [name for name in names if name in given]
        if settings[kind] != value and unused:
            raise SettingError(f"{unused[0]} is a setting of {value} searches, and this one is {settings[kind]}")
    if settings["estimator"] == "stand-alone" and given.get("grouping") == "em":
        raise SettingError("grouping em needs a supernet: a stand-alone search takes pretrained, pattern or reward")


def _checked(settings: dict[str, Any]) -> SearchConfig:
    try:
        return SearchConfig(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise SettingError(f"setting {name} = {first['input']!r}: {first['msg']}") from error
