"""The stand-alone search: every function proposed is trained, briefly; the best are trained longer.

First one structure for all relations is sought, starting from published ones. Then relations are grouped, each
group takes the structure that served its relations best, and the groups go on to specialise. Since single structures
stay in the race to the end, the result is relation-aware only where that pays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eras.errors import StoppedError
from eras.files import Journal
from eras.graph import TrainingView
from eras.scoring import ScoringFunction, Structure
from eras.search.config import SearchConfig
from eras.search.estimators.standalone import StandAlone
from eras.search.grouping import Groups, by_pattern, compact, specialists
from eras.search.race import Race
from eras.search.result import Found, Progress, ShouldStop, Watch
from eras.search.space import Candidate, Space
from eras.search.start import pretrained_groups, published, rivals
from eras.search.strategies import for_trials

_PURPOSE = 12  # part of the seed, so that no other generator draws the same numbers

TRIALS = 120
"""Functions to try where neither a number nor a time is given."""

SWAPS = 3
"""Hand-designed structures that are tried in each group in turn."""

IDLE = 30
"""Generations in a row without a new function after which a space counts as exhausted."""


Proposal = Callable[[np.ndarray, list[Structure]], tuple[Candidate, Groups]]
"""From what structures (S,) earned with each relation (S, R) to one structure for each group, and the groups."""


class TrialSearch:
    """A search in `folder`, whose `search.jsonl` is all that it needs to go on after a kill."""

    def __init__(self, view: TrainingView, config: SearchConfig, folder: Path, workers: int | None = None) -> None:
        self.view, self.config, self.folder = view, config, folder
        self.names = view.relations.names.to_list()
        self.counts = 2 * np.bincount(view.valid[:, 1], minlength=len(self.names))
        self.journal = Journal(folder / "search.jsonl")
        self.estimator = StandAlone(view, config.training, workers)
        self.race = Race(self.estimator, self.journal, self._on_trial, lambda: self.seconds)
        self.recorded = self.journal.events("generation")
        self.generation = 0
        self.before, self.started = 0.0, time.monotonic()
        self.functions: dict[ScoringFunction, float] = {}
        self.about: dict[str, float] = {}
        self.stage = "single structures"
        self.watch: Watch = lambda progress: None
        self.should_stop: ShouldStop = lambda: False

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.started

    @property
    def tried(self) -> int:
        """Functions that were trained, up to equivalence."""
        return len({function for function, _, _ in self.race.known})

    def run(self, watch: Watch = lambda progress: None, should_stop: ShouldStop = lambda: False) -> Found:
        self.watch, self.should_stop = watch, should_stop
        M, N = self.config.blocks, self.config.groups
        starts: tuple[Candidate, ...] = tuple((structure,) for structure in published(M).values())
        self._evolve(Space(M, 1), starts, None, 1.0 if N == 1 else 0.4)
        if N > 1:
            self.stage = "groups"
            groups, starts = self._specialise()
            self._evolve(Space(M, len(starts[0])), starts, groups, 1.0)
        self.stage = "finals"
        self._try(self._untried_rivals())
        best_first = sorted(self.functions, key=lambda f: -self.functions[f])
        return replace(self.race.run(best_first, self.config.ladder, rivals(self.config)), about=self.about)

    def _untried_rivals(self) -> list[ScoringFunction]:
        return [function for function in rivals(self.config) if function not in self.functions]

    # --- proposing and trying --------------------------------------------------------------------------

    def _evolve(self, space: Space, starts: tuple[Candidate, ...], groups: Groups | None, until: float) -> None:
        """Generations of candidates under one grouping, until that share of the budget is used up."""
        strategy = for_trials(self.config, space, starts, self.folder)
        idle, size = 0, max(self.config.generation, len(starts))
        while self._goes_on(until) and idle < IDLE:
            tokens = strategy.sample(min(size, self._room()))
            if not len(tokens):
                break
            candidates = [space.decode(row) for row in tokens]
            tried = len(self.functions)
            rewards = self._try([None if c is None else self._function(c, groups) for c in candidates])
            facts = strategy.learn(tokens, np.tile(rewards[:, None] / space.groups, (1, space.groups)))
            self.about |= facts
            idle = 0 if len(self.functions) > tried else idle + 1
            fields = {
                "rewards": rewards.tolist(),
                "functions": [c and [str(s) for s in c] for c in candidates],
                **facts,
            }
            self._end_generation(fields)
            size = self.config.generation

    def _goes_on(self, until: float) -> bool:
        """Whether the stage has budget left; a replayed generation belongs to the stage that it was recorded in."""
        if self.generation < len(self.recorded):
            return bool(self.recorded[self.generation]["stage"] == self.stage)
        return self._share() < until

    def _end_generation(self, fields: dict[str, Any]) -> None:
        """Write the generation down, or, where it is replayed, put the clock to where it was then."""
        if self.generation < len(self.recorded):
            self.before, self.started = self.recorded[self.generation]["elapsed"], time.monotonic()
        else:
            self.journal.write("generation", stage=self.stage, elapsed=round(self.seconds, 3), **fields)
        self.generation += 1

    def _try(self, functions: Sequence[ScoringFunction | None]) -> np.ndarray:
        """The reward of each function; nothing for what breaks the constraint (None)."""
        allowed = [f for f in functions if f is not None]
        trials = iter(self.race.measure(allowed, self.config.trial_epochs))
        rewards = np.array([0.0 if f is None else next(trials).mrr for f in functions])
        self.functions |= {f: float(r) for f, r in zip(functions, rewards, strict=True) if f is not None}
        return rewards

    def _function(self, candidate: Candidate, groups: Groups | None) -> ScoringFunction:
        if groups is None:
            return ScoringFunction(candidate)
        return ScoringFunction(candidate, dict(zip(self.names, groups.tolist(), strict=True)))

    # --- from one structure to groups ------------------------------------------------------------------

    def _specialise(self) -> tuple[Groups, tuple[Candidate, ...]]:
        """The grouping under which the best single structures do best together, and candidates to start from."""
        best_first = sorted(self.functions, key=lambda f: -self.functions[f])
        structures = [f.structures[0] for f in best_first]
        earned = np.stack([self.race.known[f, self.config.trial_epochs, 0].by_relation for f in best_first])
        proposals = {name: propose(earned, structures) for name, propose in self._groupings().items()}
        functions = {name: self._function(candidate, groups) for name, (candidate, groups) in proposals.items()}
        rewards = dict(zip(functions, self._try(list(functions.values())), strict=True))
        winner = max(rewards, key=lambda name: (functions[name] != best_first[0], rewards[name]))
        candidate, groups = compact(*proposals[winner])
        if not self.journal.events("grouping"):
            self.journal.write(
                "grouping",
                chosen=winner,
                rewards=rewards,
                groups=groups.tolist(),
                functions=[str(s) for s in candidate],
            )
        return groups, (candidate, *self._swaps(structures[0], groups))

    def _swaps(self, best: Structure, groups: Groups) -> list[Candidate]:
        """The best structure for all groups; then one group at a time under another published structure."""
        N = int(groups.max()) + 1
        rewards = {s: self.functions.get(ScoringFunction([s]), 0.0) for s in published(self.config.blocks).values()}
        others = sorted((s for s in rewards if s != best), key=lambda s: -rewards[s])[:SWAPS]
        support = [self.counts[groups == g].sum() for g in range(N)]
        swapped = [
            (*(best,) * g, other, *(best,) * (N - g - 1))
            for g in np.argsort(support)[::-1].tolist()
            for other in others
        ]
        return [(best,) * N, *swapped]

    def _groupings(self) -> dict[str, Proposal]:
        """Ways to group relations; each turns what structures earned with each relation into a start."""
        N, rng = self.config.groups, np.random.default_rng([self.config.seed, 0, 0, _PURPOSE])

        def given(groups: Groups) -> Proposal:
            return lambda earned, structures: (_best_for_each(earned, structures, groups, N), groups)

        def by_specialists(earned: np.ndarray, structures: list[Structure]) -> tuple[Candidate, Groups]:
            chosen, groups = specialists(earned, self.counts, N)
            candidate = [structures[i] for i in chosen] + [structures[chosen[0]]] * (N - len(chosen))
            return tuple(candidate), groups

        epochs = min(self.config.most_epochs, 3 * self.config.trial_epochs)
        ways: dict[str, Callable[[], Proposal]] = {
            "pattern": lambda: given(by_pattern(self.view, N)),
            "reward": lambda: by_specialists,
            "pretrained": lambda: given(pretrained_groups(self.view, self.config.training, epochs, N, rng)),
        }
        wanted = self.config.grouping
        chosen = list(ways) if wanted == "auto" else [wanted]
        return {name: ways[name]() for name in chosen}

    # --- budget and progress ---------------------------------------------------------------------------

    def _share(self) -> float:
        """How much of the budget is used up, what the finals will take set aside."""
        if self.config.seconds is None:
            return len(self.functions) / (self.config.trials or TRIALS)
        mean = np.mean(
            [t.seconds for (_, e, _), t in self.race.known.items() if e == self.config.trial_epochs] or [0.0]
        )
        finals = float(mean) * (self.config.ladder.trials + len(self._untried_rivals())) / self.estimator.workers
        tried = 0.0 if self.config.trials is None else len(self.functions) / self.config.trials
        return max(tried, self.seconds / max(self.config.seconds - finals, 0.3 * self.config.seconds))

    def _room(self) -> int:
        """How many functions may still be tried, where their number is given."""
        return max(1, (self.config.trials or TRIALS) - len(self.functions)) if self.config.seconds is None else 1 << 30

    def _on_trial(self, function: ScoringFunction) -> None:
        if self.should_stop():
            trials = len(self.race.known)
            raise StoppedError(f"stopped after {trials} trial{'s' if trials != 1 else ''}; all are saved")
        rewards = {f: t.mrr for (f, e, _), t in self.race.known.items() if e == self.config.trial_epochs}
        best = max(rewards, key=lambda f: rewards[f])
        share = self.race.share if self.stage == "finals" else min(1.0, self._share())
        self.watch(Progress(self.stage, share, self.tried, self.seconds, rewards[best], best))


def _best_for_each(earned: np.ndarray, structures: list[Structure], groups: Groups, N: int) -> Candidate:
    """For each group, the structure that served its relations best."""
    return tuple(structures[int(earned[:, groups == g].sum(1).argmax())] for g in range(N))
