"""How long functions are trained while they are compared: briefly at first, longer as they prove better."""

from __future__ import annotations

import math
from dataclasses import dataclass

FACTOR = 3
"""A promoted function is trained this many times longer."""


@dataclass(frozen=True)
class Ladder:
    """Trials of `epochs` epochs; then `finalists` functions are promoted to longer ones, and half of them again."""

    epochs: int
    finalists: int
    promotions: int
    most_epochs: int

    @property
    def rungs(self) -> list[tuple[int, int]]:
        """(functions, epochs) of each promotion."""
        steps = [
            (math.ceil(self.finalists / 2**n), min(self.most_epochs, self.epochs * FACTOR ** (n + 1)))
            for n in range(self.promotions if self.finalists else 0)
        ]
        longest = self.epochs
        rungs = []
        for places, epochs in steps:
            if epochs > longest:
                rungs.append((places, epochs))
                longest = epochs
        return rungs

    @property
    def trials(self) -> float:
        """What the promotions cost, in trials."""
        return sum(places * epochs for places, epochs in self.rungs) / self.epochs
