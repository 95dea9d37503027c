"""Every setting of rule learning, in one frozen, typed place."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eras.errors import SettingError
from eras.graph import TrainingView
from eras.rules.index import LONGEST

SPARSE = 10.0
"""Where entities have fewer edges than this in the mean, longer rules are sought: walks are short of ways there."""

USUAL_PATHS, MOST_PATHS = 20_000_000, 200_000_000
"""Paths of two edges that are looked at unasked, and that can be looked at: each takes some 60 bytes for a while."""


class RuleConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float | None = Field(None, gt=0, description="Time for learning.")
    rounds: int | None = Field(
        None, ge=1, description="Rounds of drawing and measuring, instead of a time: repeatable to the bit."
    )
    length: int = Field(
        3,
        ge=1,
        le=LONGEST,
        description="Atoms in the body of a closed rule, at most: 3, or 5 on graphs with few edges, if not given.",
    )
    constants: bool = Field(True, description="Learn rules with constants, such as speaks(X, latin) ← lives(X, rome).")
    paths: bool = Field(
        False,
        description="Among these, also some two edges long, such as … ← lives(X, A), in(A, italy); if not given, on "
        "graphs with few edges.",
    )
    support: int = Field(2, ge=1, description="A rule must be right this often in the training facts, at least.")
    confidence: float = Field(0.001, ge=0, le=1, description="And with this confidence.")
    doubt: float = Field(5.0, ge=0, description="Confidence is right predictions / (all predictions + doubt).")
    budget: int = Field(
        100_000, ge=1, description="Edges followed to measure a body; one that has more is measured on a sample."
    )
    seed: int = Field(0, ge=0, description="Decides everything that is random.")

    def updated(self, **changes: Any) -> RuleConfig:
        """A copy with other values; an impossible value is a `SettingError`."""
        try:
            return RuleConfig(**{**self.model_dump(), **changes})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise SettingError(f"setting {place} = {first['input']!r}: {first['msg']}") from error


def recommend_rules(view: TrainingView, **given: Any) -> RuleConfig:
    """Settings for a graph; what is `given` stands. Without a time: a minute, and more for larger graphs."""
    degree = np.bincount(view.train[:, [0, 2]].ravel(), minlength=len(view.entities))
    sparse, paths = degree.mean() < SPARSE, int(np.square(degree).sum())
    longest = max(length for length in range(1, LONGEST + 1) if (2 * len(view.relations) + 1) ** length < 1 << 63)
    chosen = RuleConfig(length=min(longest, 5 if sparse else 3), paths=sparse and paths < USUAL_PATHS).updated(**given)
    if chosen.length > longest:
        raise SettingError(f"length {chosen.length} is too long for {len(view.relations):,} relations: use {longest}")
    if chosen.paths and paths > MOST_PATHS:
        raise SettingError(f"paths: this graph has {paths:,} paths of two edges, too many to count: use --no-paths")
    if chosen.seconds is None and chosen.rounds is None:
        return chosen.updated(seconds=float(min(1000, max(20, len(view.train) // 300))))
    return chosen
