"""ERAS, Algorithm 2 of the paper: embeddings, grouping and policy in turn, then the best of K samples.

Everything random is a function of (seed, epoch, step) or part of the checkpoint, so a search that was killed goes on to
the same bits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from eras.errors import DamagedError, SettingError
from eras.files import Journal, read_tensors, write_tensors
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.scoring import ScoringFunction
from eras.search.config import SearchConfig
from eras.search.grouping import Groups, cluster, matched
from eras.search.oneshot import OneShot
from eras.search.policy import Policy
from eras.search.space import Candidate, Space
from eras.search.supernet import Supernet
from eras.training.stepper import Stepper

# What a random generator is for; part of its seed.
_GROUPING, _REWARD, _FILL, _DERIVE = range(4)


@dataclass(frozen=True)
class Found:
    """A scoring function and the one-shot reward that chose it, on all of validation."""

    function: ScoringFunction
    reward: float


class ErasSearch:
    """A search in `folder`, which holds `search.safetensors` (its state) and `search.jsonl` (what happened)."""

    def __init__(self, view: TrainingView, config: SearchConfig, folder: Path, groups: Groups | None = None) -> None:
        if config.groups > len(view.relations):
            raise SettingError(f"{config.groups} groups for {len(view.relations)} relations: use fewer groups")
        self.view, self.config, self.folder = view, config, folder
        self.space = Space(config.blocks, config.groups)
        self.policy = Policy(self.space, config.seed, config.entropy_bonus)
        rng = self._rng(0, _GROUPING)
        first = rng.permutation(np.arange(len(view.relations)) % config.groups) if groups is None else groups
        start = [self.space.sample(rng)]
        self.supernet = Supernet(view, first, start, config.supernet.dim, config.supernet.reciprocal)
        self.supernet.initialise(config.seed, config.supernet.init, config.supernet.init_scale)
        queries = Queries.of(view.train, len(view.entities), len(view.relations))
        self.stepper = Stepper(self.supernet, queries, config.supernet)
        self.judge = OneShot(self.supernet, view, config.measure, config.supernet.memory_mb)
        self.journal = Journal(folder / "search.jsonl")
        self.epoch = 0
        if self._state.exists():
            self._restore()

    @property
    def _state(self) -> Path:
        return self.folder / "search.safetensors"

    def run(self, on_epoch: Callable[[int], None] = lambda epoch: None) -> Found:
        while self.epoch < self.config.epochs:
            started = time.monotonic()
            loss = self._train_embeddings()
            moved = self._regroup()
            rewards = [self._teach_policy(step) for step in range(self.config.policy_steps)]
            self.epoch += 1
            self.journal.write(
                "epoch",
                epoch=self.epoch,
                loss=loss,
                moved=moved,
                reward=float(np.mean(rewards)),
                seconds=round(time.monotonic() - started, 3),
            )
            self._save()
            on_epoch(self.epoch)
        return self._derive()

    def function_of(self, candidate: Candidate) -> ScoringFunction:
        names = self.view.relations.names.to_list()
        return ScoringFunction(candidate, dict(zip(names, self.supernet.groups.tolist(), strict=True)))

    def _train_embeddings(self) -> float:
        """One epoch of the supernet: U fresh candidates in every step, sampled for the whole epoch at once."""
        U, steps = self.config.functions, self.stepper.steps
        rng = self._rng(self.epoch, _FILL)
        sampled = [self.space.decode(tokens) for tokens in self.policy.sample(U * steps)]
        pool = [self.space.sample(rng) if candidate is None else candidate for candidate in sampled]
        losses = []
        for step in range(steps):
            self.supernet.play(pool[step * U : (step + 1) * U])
            losses.append(self.stepper.step(self.epoch, step)[0])
        return float(np.mean(losses))

    def _regroup(self) -> int:
        """Cluster the relations' embeddings; the number of relations that changed their group."""
        if self.config.grouping == "fixed" or self.config.groups == 1:
            return 0
        old = self.supernet.groups
        new = cluster(self._relation_points(), self.config.groups, self._rng(self.epoch, _GROUPING), self._weights())
        self.supernet.groups = matched(new, old, self.config.groups)
        return int((self.supernet.groups != old).sum())

    def _relation_points(self) -> np.ndarray:
        """(n_relations, …): each relation's embedding, with that of its reciprocal where it has one."""
        tables = self.supernet.relations.detach().cpu().numpy()
        return np.concatenate(np.split(tables, len(tables) // self.supernet.n_relations), axis=1)

    def _weights(self) -> np.ndarray:
        return np.bincount(self.view.train[:, 1], minlength=len(self.view.relations)) + 1.0

    def _teach_policy(self, step: int) -> float:
        """One REINFORCE step; all U candidates are judged on the same mini-batch."""
        asked = self.judge.draw(self.config.reward_batch, self._rng(self.epoch, _REWARD, step))
        tokens = self.policy.sample(self.config.functions)
        candidates = [self.space.decode(t) for t in tokens]
        rewards = self.judge.rewards(candidates, asked)
        facts = self.policy.learn(tokens, rewards)
        self.journal.write(
            "policy",
            epoch=self.epoch + 1,
            step=step + 1,
            rewards=[round(float(r), 6) for r in rewards],
            functions=[None if c is None else [str(s) for s in c] for c in candidates],
            **facts,
        )
        return float(rewards.mean())

    def _derive(self) -> Found:
        """The best of K samples of the final policy, on all of validation."""
        sampled = [self.space.decode(tokens) for tokens in self.policy.sample(self.config.derive)]
        candidates = [c for c in sampled if c is not None] or [self.space.sample(self._rng(self.epoch, _DERIVE))]
        asked = self.judge.draw(len(self.view.valid), self._rng(self.epoch, _DERIVE))
        rewards = self.judge.rewards(candidates, asked)
        best = int(rewards.argmax())
        function = self.function_of(candidates[best])
        self.journal.write("derived", reward=float(rewards[best]), function=function.to_json())
        return Found(function, float(rewards[best]))

    def _rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, *place])

    def _save(self) -> None:
        tensors: dict[str, Tensor] = {f"supernet.{k}": v for k, v in self.supernet.tables.items()}
        tensors |= {f"optimiser.{k}": v for k, v in self.stepper.optimiser.state().items()}
        tensors |= {f"policy.{k}": v for k, v in self.policy.state().items()}
        tensors["groups"] = torch.from_numpy(self.supernet.groups)
        facts = {"epoch": self.epoch, "baseline": self.policy.baseline, "config": self.config.model_dump()}
        write_tensors(self._state, tensors, {"search": json.dumps(facts)})

    def _restore(self) -> None:
        tensors, metadata = read_tensors(self._state)
        facts = json.loads(metadata.get("search", "{}"))
        if facts.get("config") != self.config.model_dump():
            raise DamagedError(f"{self._state} belongs to a search with other settings: use another folder")
        parts: dict[str, dict[str, Tensor]] = {"supernet": {}, "optimiser": {}, "policy": {}}
        self.supernet.groups = tensors.pop("groups").numpy()
        for name, tensor in tensors.items():
            part, _, key = name.partition(".")
            parts[part][key] = tensor
        for name, table in self.supernet.tables.items():
            table.copy_(parts["supernet"][name])
        self.stepper.optimiser.restore(parts["optimiser"])
        self.policy.restore(parts["policy"], facts["baseline"])
        self.epoch = facts["epoch"]
        self.journal.write("resume", epoch=self.epoch)
