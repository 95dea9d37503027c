"""ERAS, Algorithm 2 of the paper: embeddings, grouping and strategy in turn, then the best of K samples.

Everything random is a function of (seed, epoch, step) or part of the checkpoint, so a search that was killed goes on to
the same bits.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from eras.errors import StoppedError
from eras.files import Journal, read_tensors, write_tensors
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.scoring import ScoringFunction
from eras.search.config import SearchConfig
from eras.search.estimators.oneshot import OneShot
from eras.search.estimators.standalone import StandAlone
from eras.search.estimators.supernet import Supernet
from eras.search.grouping import Groups, by_embedding, by_pattern, by_reward, compact, matched
from eras.search.race import ENTRANTS, Race
from eras.search.result import Found, Progress, ShouldStop, Watch
from eras.search.space import Candidate, Space, Tokens
from eras.search.start import pretrained_groups, rivals
from eras.search.strategies import Relaxed, for_supernet
from eras.training.stepper import BlockStepper

# What a random generator is for; part of its seed, from 1 since a seed's trailing zeros count for nothing.
_GROUPING, _REWARD, _FILL, _DERIVE = range(1, 5)


class OneShotSearch:
    """A search in `folder`, which holds `search.safetensors` (its state) and `search.jsonl` (what happened)."""

    def __init__(self, view: TrainingView, config: SearchConfig, folder: Path, workers: int | None = None) -> None:
        self.view, self.config, self.folder, self.workers = view, config, folder, workers
        self.space = Space(config.blocks, config.groups)
        self.strategy = for_supernet(config, self.space)
        self.journal = Journal(folder / "search.jsonl")
        training = config.training
        start = [self.space.sample(self._rng(0, _FILL))]
        self.supernet = Supernet(view, self._first_groups(), start, training.dim, training.reciprocal, training.device)
        self.supernet.initialise(config.seed, training.init, training.init_scale)
        queries = Queries.of(view.train, len(view.entities), len(view.relations))
        self.stepper = BlockStepper(self.supernet, queries, training)
        self.judge = OneShot(self.supernet, view, config.measure, training.memory_mb)
        self.last_judge = OneShot(self.supernet, view, "mrr", training.memory_mb)
        self.epoch, self.seconds, self.tried = 0, 0.0, 0
        self.best, self.favourite = 0.0, start[0]
        self.entropy: float | None = None
        if self._state.exists():
            self._restore()

    @property
    def _state(self) -> Path:
        return self.folder / "search.safetensors"

    def run(self, watch: Watch = lambda progress: None, should_stop: ShouldStop = lambda: False) -> Found:
        while self._share(self.epoch, self.seconds) < 1:
            started = time.monotonic()
            loss = self.train_embeddings(watch)
            moved = self._regroup()
            reward = float(np.mean([self._teach(step) for step in range(self.config.policy_steps)]))
            self.epoch += 1
            self.seconds += time.monotonic() - started
            self.journal.write(
                "epoch", epoch=self.epoch, loss=loss, moved=moved, reward=reward, seconds=round(self.seconds, 3)
            )
            function = self.function_of(self.favourite)
            self.journal.write("incumbent", elapsed=round(self.seconds, 3), function=function.to_json())
            self._save()
            watch(self._progress("search", self._share(self.epoch, self.seconds)))
            if should_stop():
                raise StoppedError(f"stopped after epoch {self.epoch}; all is saved")
        return self._derive(watch, should_stop)

    def function_of(self, candidate: Candidate) -> ScoringFunction:
        used, groups = compact(candidate, self.supernet.groups)
        return ScoringFunction(used, dict(zip(self.view.relations.names, groups.tolist(), strict=True)))

    def _first_groups(self) -> Groups:
        N = self.config.groups
        if self.config.grouping == "pattern":
            return by_pattern(self.view, N)
        if self.config.grouping == "pretrained":
            epochs = min(self.config.most_epochs, 3 * self.config.trial_epochs)
            return pretrained_groups(self.view, self.config.training, epochs, N, self._rng(0, _GROUPING))
        return self._rng(0, _GROUPING).permutation(np.arange(len(self.view.relations)) % N)

    # --- one epoch -------------------------------------------------------------------------------------

    def train_embeddings(self, watch: Watch = lambda progress: None) -> float:
        """One epoch of the supernet: fresh candidates in every step, sampled for the whole epoch at once."""
        started, steps = time.monotonic(), self.stepper.steps
        pool = self.pool(steps)
        losses = []
        for step in range(steps):
            self.supernet.play(pool[step])
            losses.append(self.stepper.step(self.epoch, step)[0])
            if step % 20 == 0:
                extra = time.monotonic() - started
                share = self._share(self.epoch + step / steps, self.seconds + extra)
                watch(self._progress("search", share, extra))
        return float(np.mean(losses))

    def pool(self, steps: int) -> list[list[Candidate]]:
        """The candidates of each step of an epoch; those that keep the constraint stand in for those that break it."""
        rng = self._rng(self.epoch, _FILL)
        if isinstance(self.strategy, Relaxed):
            return [[self._heaviest(rng)]] * steps
        if self.config.sampling == "fair":
            drawn = [self._decode(self.space.fair(rng), constrained=False) for _ in range(steps)]
            return [[c for c in step if c is not None] for step in drawn]
        U = self.config.functions
        valid = [c for c in self._decode(self.strategy.sample(U * steps)) if c is not None]
        pool = list(itertools.islice(itertools.cycle(valid or [self._random(rng)]), U * steps))
        return [pool[step * U : (step + 1) * U] for step in range(steps)]

    def _decode(self, tokens: Tokens, constrained: bool = True) -> list[Candidate | None]:
        if self.config.anchored and not isinstance(self.strategy, Relaxed):
            tokens = self.space.anchor(tokens)
        return [self.space.decode(row, constrained) for row in tokens]

    def _heaviest(self, rng: np.random.Generator) -> Candidate:
        assert isinstance(self.strategy, Relaxed)
        return self.space.decode(self.strategy.heaviest(), constrained=False) or self._random(rng)

    def _random(self, rng: np.random.Generator) -> Candidate:
        (candidate,) = self._decode(self.space.encode(self.space.sample(rng))[None])
        assert candidate is not None, "what is sampled under the constraint keeps it"
        return candidate

    def _regroup(self) -> int:
        """Group the relations anew, where the grouping is not fixed; how many of them moved."""
        old = self.supernet.groups
        if self.config.groups == 1 or self.config.grouping in ("pattern", "pretrained"):
            return 0
        if self.config.grouping == "reward":
            asked = self.last_judge.draw(None, self._rng(self.epoch, _GROUPING))
            earned = np.stack([self.last_judge.by_relation(s, asked) for s in self.favourite]) * len(asked.answers)
            counts = np.bincount(np.repeat(asked.relation, asked.counts), minlength=len(self.view.relations))
            self.supernet.groups = by_reward(earned, counts, old)
        else:
            new = by_embedding(self.supernet, self.view, self.config.groups, self._rng(self.epoch, _GROUPING))
            self.supernet.groups = matched(new, old, self.config.groups)
        moved = self.supernet.groups != old
        if moved.any():
            self.journal.write("grouping", epoch=self.epoch + 1, groups=self.supernet.groups.tolist())
        return int(moved.sum())

    def _teach(self, step: int) -> float:
        """One step of the strategy; all its candidates are judged on the same mini-batch. Returns the mean reward."""
        rng = self._rng(self.epoch, _REWARD, step)
        asked = self.judge.draw(self.config.reward_batch, rng)
        if isinstance(self.strategy, Relaxed):
            heaviest = self._heaviest(rng)
            candidates: list[Candidate | None] = [heaviest]
            loss, gradient = self.judge.gradient(heaviest, asked)
            rewards = np.array([[self.judge.gained(loss)]])
            facts = self.strategy.descend(gradient)
        else:
            tokens = self.strategy.sample(self.config.functions)
            candidates = self._decode(tokens)
            rewards = self.judge.rewards(candidates, asked)
            facts = self.strategy.learn(tokens, rewards)
        total = rewards.sum(1)
        self.tried += len(candidates)
        self.entropy = facts.get("entropy")
        favourite = candidates[int(total.argmax())]
        if favourite is not None and total.max() > self.best:
            self.favourite, self.best = favourite, float(total.max())
        self.journal.write(
            "policy",
            epoch=self.epoch + 1,
            step=step + 1,
            rewards=[round(float(r), 6) for r in total],
            functions=[None if c is None else [str(s) for s in c] for c in candidates],
            **facts,
        )
        return float(total.mean())

    # --- the end ---------------------------------------------------------------------------------------

    def _derive(self, watch: Watch, should_stop: ShouldStop) -> Found:
        """The best of K samples of the final strategy, on all of validation; the first few trained on their own."""
        sampled = self._decode(self.strategy.sample(self.config.derive))
        candidates = [c for c in sampled if c is not None] or [self._random(self._rng(self.epoch, _DERIVE))]
        asked = self.last_judge.draw(None, self._rng(self.epoch, _DERIVE))
        rewards = self.last_judge.rewards(candidates, asked).sum(1)
        order = np.argsort(-rewards, kind="stable")
        functions = list(dict.fromkeys(self.function_of(candidates[i]) for i in order))
        self.journal.write("derived", rewards=[float(rewards[i]) for i in order], function=functions[0].to_json())
        if not self.config.finalists:
            return Found(functions[0], float(rewards[order[0]]), tuple(functions[1:]))
        estimator = StandAlone(self.view, self.config.training, self.workers)
        started = time.monotonic()

        def on_trial(trained: ScoringFunction) -> None:
            watch(self._progress("finals", race.share, time.monotonic() - started))
            if should_stop():
                raise StoppedError("stopped in the finals; all trials are saved")

        race = Race(estimator, self.journal, on_trial, lambda: self.seconds + time.monotonic() - started)
        entrants = functions[: ENTRANTS * self.config.finalists]
        known = rivals(self.config)
        found = race.run(list(dict.fromkeys([*entrants, *known])), self.config.ladder, known)
        self.seconds += time.monotonic() - started
        return found

    def _progress(self, stage: str, share: float, extra: float = 0.0) -> Progress:
        function = self.function_of(self.favourite)
        return Progress(stage, min(1.0, share), self.tried, self.seconds + extra, self.best, function, self.entropy)

    def _share(self, epoch: float, seconds: float) -> float:
        """How much of the search is done: of its epochs, or of its time less what the finals will take."""
        limit = self.config.seconds or math.inf
        return max(epoch / self.config.epochs, seconds / (limit - min(self.config.reserve, limit / 2)))

    def _rng(self, epoch: int, purpose: int, step: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, epoch, step, purpose])

    # --- checkpoints -----------------------------------------------------------------------------------

    def _save(self) -> None:
        tensors: dict[str, Tensor] = {f"supernet.{k}": v for k, v in self.supernet.tables.items()}
        tensors |= {f"optimiser.{k}": v for k, v in self.stepper.optimiser.state().items()}
        tensors |= {f"strategy.{k}": v for k, v in self.strategy.state().items()}
        tensors["groups"] = torch.from_numpy(self.supernet.groups)
        tensors["favourite"] = torch.from_numpy(self.space.encode(self.favourite))
        facts = {"epoch": self.epoch, "seconds": self.seconds, "tried": self.tried, "best": self.best}
        write_tensors(self._state, tensors, {"search": json.dumps(facts)})

    def _restore(self) -> None:
        tensors, metadata = read_tensors(self._state)
        facts = json.loads(metadata["search"])
        parts: dict[str, dict[str, Tensor]] = {"supernet": {}, "optimiser": {}, "strategy": {}}
        self.supernet.groups = tensors.pop("groups").numpy()
        favourite = self.space.decode(tensors.pop("favourite").numpy(), constrained=False)
        assert favourite is not None
        self.favourite = favourite
        for name, tensor in tensors.items():
            part, _, key = name.partition(".")
            parts[part][key] = tensor
        for name, table in self.supernet.tables.items():
            table.copy_(parts["supernet"][name])
        self.stepper.optimiser.restore(parts["optimiser"])
        self.strategy.restore(parts["strategy"])
        self.epoch, self.seconds, self.tried, self.best = (facts[k] for k in ("epoch", "seconds", "tried", "best"))
        self.journal.write("resume", epoch=self.epoch)
