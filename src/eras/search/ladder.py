"""How long functions are trained while they are compared: briefly at first, in full as they prove better."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Ladder:
    """Trials of `epochs` epochs; then successive halving with full trainings, of `most_epochs` epochs.

    `finalists` functions are trained in full, `replicas` times each; with further promotions the better half of them
    as many times again.
    """

    epochs: int
    finalists: int
    promotions: int
    most_epochs: int
    replicas: int = 1

    @property
    def rungs(self) -> list[int]:
        """The functions of each promotion."""
        if self.most_epochs <= self.epochs or not self.finalists:
            return []
        return [math.ceil(self.finalists / 2**n) for n in range(self.promotions)]

    @property
    def trials(self) -> float:
        """What the promotions cost, in trials."""
        return self.replicas * sum(self.rungs) * self.most_epochs / self.epochs
