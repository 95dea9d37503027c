"""Trials that are never run twice, and the race between functions: the better ones are trained in full.

Every trial is a line of the journal. A search that was killed proposes the same functions again, finds their trials
there and goes on where it was.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence

import numpy as np

from eras.files import Journal
from eras.scoring import ScoringFunction
from eras.search.estimators.standalone import StandAlone, Trial
from eras.search.ladder import Ladder
from eras.search.result import Found

ENTRANTS = 2
"""Functions that a one-shot search sends into the race, for each place among the finalists."""


ERRORS = 2.0
"""Standard errors by which a function must be ahead of the best hand-designed one."""


class Race:
    """`known` holds every trial so far, by function (up to equivalence), epochs and replica.

    `share` says how much of a race is run; `clock` gives the time that the journal says.
    """

    def __init__(
        self,
        estimator: StandAlone,
        journal: Journal,
        on_trial: Callable[[ScoringFunction], None] = lambda f: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.estimator, self.journal, self.on_trial, self.clock = estimator, journal, on_trial, clock
        self.share, self._spent, self._due = 0.0, 0.0, math.inf
        self.known: dict[tuple[ScoringFunction, int, int], Trial] = {}
        for event in journal.events("trial"):
            trial = Trial(event["mrr"], np.array(event["by_relation"]), event["seconds"])
            self.known[ScoringFunction.from_json(event["function"]), event["epochs"], event["replica"]] = trial

    def measure(self, functions: Sequence[ScoringFunction], epochs: int, replicas: Sequence[int] = (0,)) -> list[Trial]:
        """The trials of the functions, all with the first replica's seed, then all with the next one's.

        Equivalent functions are trained once, and those known not at all.
        """
        wanted = [(function, replica) for replica in replicas for function in functions]
        new = [(f, replica) for f, replica in dict.fromkeys(wanted) if (f, epochs, replica) not in self.known]
        trials = self.estimator.measure([f for f, _ in new], epochs, [replica for _, replica in new])
        for (function, replica), trial in zip(new, trials, strict=True):
            self.known[function, epochs, replica] = trial
            self.journal.write(
                "trial",
                function=function.to_json(),
                epochs=epochs,
                replica=replica,
                mrr=trial.mrr,
                by_relation=trial.by_relation.tolist(),
                seconds=trial.seconds,
                elapsed=round(self.clock(), 3),
            )
            self._spent += epochs
            self.share = min(1.0, self._spent / self._due)
            self.on_trial(function)
        return [self.known[function, epochs, replica] for function, replica in wanted]

    def run(
        self, functions: Sequence[ScoringFunction], ladder: Ladder, rivals: Collection[ScoringFunction] = ()
    ) -> Found:
        """Successive halving: all are trained briefly, the best of them in full, half of those again, and so on.

        A rung has replicas of its own, so that nothing climbs far by luck with one; all full trainings of a function
        count. Of `rivals`, functions that have proved themselves elsewhere, the best has a place on every rung, and
        wins unless it is clearly beaten.
        """
        new = [f for f in dict.fromkeys(functions) if (f, ladder.epochs, 0) not in self.known]
        self._spent, self._due = 0.0, max(1.0, ladder.epochs * (len(new) + ladder.trials))
        ranked = self._ranked(functions, ladder.epochs, [0])
        for rung, places in enumerate(ladder.rungs, start=1):
            replicas = range(1, 1 + rung * ladder.replicas)
            chosen = [f for f, _ in ranked[:places]]
            rival = next((f for f, _ in ranked if f in rivals), chosen[0])
            if rival not in chosen:
                chosen = [*chosen[: max(1, places - 1)], rival]
            left = [(f, reward) for f, reward in ranked if f not in chosen]
            ranked = self._ranked(chosen, ladder.most_epochs, replicas) + left
        place = next((i for i, (function, _) in enumerate(ranked) if function in rivals), 0)
        if ladder.rungs and not self._beaten(ranked[place][0], ranked[0][0], ladder.most_epochs):
            ranked.insert(0, ranked.pop(place))
        (best, reward), *others = ranked
        return Found(best, reward, tuple(f for f, _ in others))

    def _beaten(self, rival: ScoringFunction, best: ScoringFunction, epochs: int) -> bool:
        """Whether the best is better than luck would have it, over the full trainings that both have had."""
        shared = [r for f, e, r in self.known if f == best and e == epochs and (rival, epochs, r) in self.known]
        if len(shared) < 2:
            return True
        ahead = np.array([self.known[best, epochs, r].mrr - self.known[rival, epochs, r].mrr for r in shared])
        return bool(ahead.mean() > ERRORS * ahead.std(ddof=1) / math.sqrt(len(shared)))

    def _ranked(
        self, functions: Sequence[ScoringFunction], epochs: int, replicas: Sequence[int]
    ) -> list[tuple[ScoringFunction, float]]:
        trials = self.measure(functions, epochs, replicas)
        means = np.reshape([trial.mrr for trial in trials], (len(replicas), -1)).mean(0).tolist()
        return sorted(zip(functions, means, strict=True), key=lambda pair: -pair[1])
