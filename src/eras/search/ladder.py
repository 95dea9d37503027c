"""How long functions are trained while they are compared: briefly at first, longer as they prove better."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Ladder:
    """Trials of `epochs` epochs; then `finalists` functions are promoted, and after each promotion half of them again.

    Every promotion makes trainings longer by the same factor, the last one as long as `most_epochs`. After a promotion
    each function is trained `replicas` times.
    """

    epochs: int
    finalists: int
    promotions: int
    most_epochs: int
    replicas: int = 1

    @property
    def rungs(self) -> list[tuple[int, int]]:
        """(functions, epochs) of each promotion."""
        if not self.finalists or self.most_epochs <= self.epochs:
            return []
        factor = (self.most_epochs / self.epochs) ** (1 / self.promotions)
        return [
            (math.ceil(self.finalists / 2**n), round(self.epochs * factor ** (n + 1))) for n in range(self.promotions)
        ]

    @property
    def trials(self) -> float:
        """What the promotions cost, in trials."""
        return self.replicas * sum(places * epochs for places, epochs in self.rungs) / self.epochs
