"""Trials that are never run twice, and the race between functions: the better ones are trained longer and longer.

Every trial is a line of the journal. A search that was killed proposes the same functions again, finds their trials
there and goes on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from eras.files import Journal
from eras.scoring import ScoringFunction
from eras.search.estimators.standalone import StandAlone, Trial
from eras.search.ladder import Ladder
from eras.search.result import Found

ENTRANTS = 3
"""Functions that a one-shot search sends into the race, for each place among the finalists."""


class Race:
    """`known` holds the trial of every function (up to equivalence) and number of epochs measured so far.

    `share` says how much of a race is run.
    """

    def __init__(
        self, estimator: StandAlone, journal: Journal, on_trial: Callable[[ScoringFunction], None] = lambda f: None
    ) -> None:
        self.estimator, self.journal, self.on_trial = estimator, journal, on_trial
        self.share, self._spent, self._due = 0.0, 0.0, math.inf
        self.known: dict[tuple[ScoringFunction, int], Trial] = {}
        for event in journal.events("trial"):
            trial = Trial(event["mrr"], np.array(event["by_relation"]), event["seconds"])
            self.known[ScoringFunction.from_json(event["function"]), event["epochs"]] = trial

    def measure(self, functions: Sequence[ScoringFunction], epochs: int) -> list[Trial]:
        """The trials of the functions; equivalent ones are trained once, and those known not at all."""
        new = [f for f in dict.fromkeys(functions) if (f, epochs) not in self.known]
        for function, trial in zip(new, self.estimator.measure(new, epochs), strict=True):
            self.known[function, epochs] = trial
            self.journal.write(
                "trial",
                function=function.to_json(),
                epochs=epochs,
                mrr=trial.mrr,
                by_relation=trial.by_relation.tolist(),
                seconds=trial.seconds,
            )
            self._spent += epochs
            self.share = min(1.0, self._spent / self._due)
            self.on_trial(function)
        return [self.known[function, epochs] for function in functions]

    def run(self, functions: Sequence[ScoringFunction], ladder: Ladder) -> Found:
        """Successive halving: all are trained briefly, the best of them longer, half of those longer still."""
        new = [f for f in dict.fromkeys(functions) if (f, ladder.epochs) not in self.known]
        self._spent, self._due = 0.0, max(1.0, ladder.epochs * (len(new) + ladder.trials))
        ranked = self._ranked(functions, ladder.epochs)
        for places, epochs in ladder.rungs:
            promoted = self._ranked([f for f, _ in ranked[:places]], epochs)
            ranked = promoted + ranked[places:]
        (best, reward), *others = ranked
        return Found(best, reward, tuple(f for f, _ in others))

    def _ranked(self, functions: Sequence[ScoringFunction], epochs: int) -> list[tuple[ScoringFunction, float]]:
        trials = self.measure(functions, epochs)
        scored = [(f, t.mrr) for f, t in zip(functions, trials, strict=True)]
        return sorted(scored, key=lambda pair: -pair[1])
