"""The anytime learner: in every round bodies are drawn, and those met most often are measured.

Rules with constants and bodies of one atom are few enough to be counted out first. A round then draws bodies by walks
from both ends of random facts and measures the ones met most often, each for all heads at once: the pairs that a
body links are counted once, and for every relation how many of them it links. What a round does depends on the seed and
its number alone, not on the number of threads.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from eras.files import read_tensors, write_tensors
from eras.graph import TrainingView
from eras.rules.attributes import Attributes, build_attributes, link_constants
from eras.rules.config import RuleConfig
from eras.rules.index import LONGEST, build_index
from eras.rules.ruleset import BODY, RuleSet, closed_frame, rule_frame
from eras.rules.walks import Room, draw_bodies, make_room, measure

Int64s = npt.NDArray[np.int64]

DRAWS, DRAWN_AT_ONCE = 40_000, 5_000
"""Facts that a round draws, and how many of them make a piece of work."""

MEASURED, MEASURED_AT_ONCE = 4096, 256
"""Bodies that a round measures, at most, and how many of them make a piece of work."""

HEADS_AT_ONCE = 2048
PENDING = 2_000_000
"""Bodies that are remembered without having been measured."""

FEWEST_STARTS = 20
"""A body is measured from so many starts, at least."""

QUIET_ROUNDS = 100
"""After so many rounds without a new body, all is taken to be found."""

SAVE_SECONDS = 30.0


@dataclass(frozen=True)
class RuleProgress:
    stage: str
    share: float
    bodies: int
    rules: int
    seconds: float


OnProgress = Callable[[RuleProgress], None]


class Learner:
    """Learns from training facts alone. With a folder, it saves as it goes and goes on where it was."""

    def __init__(
        self, view: TrainingView, config: RuleConfig, folder: Path | None = None, threads: int | None = None
    ) -> None:
        self.view, self.config, self.folder = view, config, folder
        self.threads = threads or os.cpu_count() or 1
        self.index = build_index(view.train, len(view.entities), len(view.relations))
        self._base = 2 * len(view.relations) + 1
        self._rooms: queue.SimpleQueue[Room] = queue.SimpleQueue()
        for _ in range(self.threads):
            self._rooms.put(make_room(len(view.entities)))
        self.round, self.seconds, self._quiet = 0, 0.0, 0
        self._known, self._pending, self._counts = (np.empty(0, np.int64) for _ in range(3))
        self._rows = np.empty((0, 4), np.int64)
        """Measured so far: body, directed head, support, predicted."""
        self._load()

    def run(self, on_progress: OnProgress = lambda p: None, stop: Callable[[], bool] = lambda: False) -> RuleSet:
        """Learn until the time is over, the rounds are done, nothing new is met, or `stop` says so."""
        _compile()
        config, began, saved = self.config, time.monotonic() - self.seconds, time.monotonic()

        def report(stage: str, share: float) -> None:
            on_progress(RuleProgress(stage, share, len(self._known), len(self._rows), time.monotonic() - began))

        with ThreadPoolExecutor(self.threads) as pool:
            constants = self._constants(pool, lambda share: report("rules with constants", share), stop)
            if not len(self._known):
                relations = np.arange(1, len(self.view.relations) + 1)
                self._measure(pool, relations * self._base ** (config.length - 1), 0)
            lengths = _lengths(config.length)
            while len(lengths) and not stop() and not self._done(time.monotonic() - began):
                self.round += 1
                self._draw(pool, lengths)
                self._measure(pool, self._most_met(), self.round)
                report("closed rules", self._share(time.monotonic() - began))
                if time.monotonic() - saved > SAVE_SECONDS:
                    self.seconds, saved = time.monotonic() - began, time.monotonic()
                    self._save()
        self.seconds = time.monotonic() - began
        self._save()
        return RuleSet.of([self._closed(), *constants], self.view.entities, self.view.relations)

    def _done(self, seconds: float) -> bool:
        return self._share(seconds) >= 1.0 or self._quiet >= QUIET_ROUNDS

    def _share(self, seconds: float) -> float:
        """How much of what was asked for is done."""
        by_time = seconds / self.config.seconds if self.config.seconds else 0.0
        by_rounds = self.round / self.config.rounds if self.config.rounds else 0.0
        return min(1.0, max(by_time, by_rounds))

    def _constants(
        self, pool: ThreadPoolExecutor, report: Callable[[float], None], stop: Callable[[], bool]
    ) -> list[pl.DataFrame]:
        """Count out the rules with constants, head by head; they may take half of the time.

        They are not saved on the way, so learning that goes on counts them again.
        """
        if not self.config.constants:
            return []
        config, began, a = self.config, time.monotonic(), build_attributes(self.index, self.config.paths)
        sizes = np.diff(a.member_begin)
        heads = np.flatnonzero(sizes[: len(self.index.entity)] >= config.support).astype(np.int32)
        counts: queue.SimpleQueue[npt.NDArray[np.int32]] = queue.SimpleQueue()
        for _ in range(self.threads):
            counts.put(np.zeros(len(sizes), np.int32))

        def link(part: npt.NDArray[np.int32]) -> Int64s:
            room = counts.get()
            try:
                return link_constants(a, part, config.support, config.confidence, config.doubt, room)
            finally:
                counts.put(room)

        heads = np.random.default_rng([config.seed, 0]).permutation(heads)
        parts = [heads[i : i + HEADS_AT_ONCE] for i in range(0, len(heads), HEADS_AT_ONCE)]
        frames: list[pl.DataFrame] = []
        while len(frames) < len(parts) and not stop():
            if config.seconds and time.monotonic() - began > config.seconds / 2:
                break
            for rows in pool.map(link, parts[len(frames) : len(frames) + self.threads]):
                frames.append(rule_frame(_constant_columns(a, rows, sizes), config.doubt))
            report(len(frames) / len(parts))
        return frames

    def _draw(self, pool: ThreadPoolExecutor, lengths: npt.NDArray[np.int32]) -> None:
        """Meet bodies, and add up how often those that are not measured yet were met."""

        def draw(part: int) -> Int64s:
            rng = np.random.default_rng([self.config.seed, 1, self.round, part])
            return self._encode(draw_bodies(self.index, DRAWN_AT_ONCE, lengths, rng))

        met, counts = np.unique(np.concatenate(list(pool.map(draw, range(DRAWS // DRAWN_AT_ONCE)))), return_counts=True)
        new = ~np.isin(met, self._known, assume_unique=True)
        codes, place = np.unique(np.concatenate([self._pending, met[new]]), return_inverse=True)
        added = np.zeros(len(codes), np.int64)
        np.add.at(added, place, np.concatenate([self._counts, counts[new]]))
        self._pending, self._counts = codes, added
        self._quiet = 0 if len(codes) else self._quiet + 1

    def _most_met(self) -> Int64s:
        """Take the bodies met most often out of those that wait."""
        order = np.argsort(-self._counts, kind="stable")
        chosen, rest = order[:MEASURED], np.sort(order[MEASURED:PENDING])
        codes = self._pending[chosen]
        self._pending, self._counts = self._pending[rest], self._counts[rest]
        return codes

    def _measure(self, pool: ThreadPoolExecutor, codes: Int64s, number: int) -> None:
        config, bodies = self.config, self._decode(codes)
        starts = range(0, len(codes), MEASURED_AT_ONCE)

        def measured(start: int) -> Int64s:
            room = self._rooms.get()
            try:
                part = bodies[start : start + MEASURED_AT_ONCE]
                rng = np.random.default_rng([config.seed, 2, number, start])
                predicted, rows = measure(self.index, part, rng, config.budget, FEWEST_STARTS, config.support, room)
            finally:
                self._rooms.put(room)
            return np.column_stack([codes[start + rows[:, 0]], rows[:, 1:], predicted[rows[:, 0]]])

        rows = np.concatenate([self._rows[:0], *pool.map(measured, starts)])
        confident = rows[:, 2] >= config.confidence * (rows[:, 3] + config.doubt)
        self._rows = np.concatenate([self._rows, rows[confident]])
        self._known = np.union1d(self._known, codes)

    def _closed(self) -> pl.DataFrame:
        code, head, support, predicted = self._rows.T
        bodies = self._decode(code)
        return closed_frame(bodies, head, support, predicted, self.config.doubt, len(self.view.relations))

    def _encode(self, bodies: npt.NDArray[np.int32]) -> Int64s:
        """A number for each body: its atoms are the digits."""
        code = np.zeros(len(bodies), np.int64)
        for step in range(self.config.length):
            code = code * self._base + bodies[:, step] + 1
        return code

    def _decode(self, codes: Int64s) -> npt.NDArray[np.int32]:
        bodies = np.full((len(codes), LONGEST), -1, np.int32)
        for step in reversed(range(self.config.length)):
            codes, digit = np.divmod(codes, self._base)
            bodies[:, step] = digit - 1
        return bodies

    def _save(self) -> None:
        if self.folder is None:
            return
        state = {"known": self._known, "pending": self._pending, "counts": self._counts, "rows": self._rows}
        place = {"round": str(self.round), "seconds": repr(self.seconds), "quiet": str(self._quiet)}
        write_tensors(self._checkpoint, {name: torch.from_numpy(array) for name, array in state.items()}, place)

    def _load(self) -> None:
        if self.folder is None or not self._checkpoint.exists():
            return
        state, place = read_tensors(self._checkpoint)
        self._known, self._pending, self._counts, self._rows = (
            state[name].numpy() for name in ("known", "pending", "counts", "rows")
        )
        self.round, self.seconds, self._quiet = int(place["round"]), float(place["seconds"]), int(place["quiet"])

    @property
    def _checkpoint(self) -> Path:
        assert self.folder is not None, "only a learner with a folder saves"
        return self.folder / "checkpoint.safetensors"


def _compile() -> None:
    """Compile what learning calls, so that it does not count as time for learning."""
    g, rng = build_index(np.array([[0, 0, 1]]), 2, 1), np.random.default_rng(0)
    a, none = build_attributes(g, False), np.full((0, LONGEST), -1, np.int32)
    measure(g, none, rng, 1, 1, 1, make_room(2))
    draw_bodies(g, 0, none[:, 0], rng)
    link_constants(a, none[:, 0], 1, 0.0, 0.0, np.zeros(len(a.entity), np.int32))


def _lengths(longest: int) -> npt.NDArray[np.int32]:
    """Lengths that are tried with each fact: the longer ones more often, since fewer of their walks meet."""
    return np.array([length for length in range(2, longest + 1) for _ in range(1 if length == 2 else 3)], np.int32)


def _constant_columns(a: Attributes, rows: Int64s, sizes: Int64s) -> dict[str, npt.NDArray[np.integer]]:
    head, body, support = rows.T
    atoms: Sequence[npt.NDArray[np.integer]] = (a.first[body], a.second[body])
    return {
        "head": a.first[head],
        "head_entity": a.entity[head],
        **dict(zip(BODY, atoms, strict=False)),
        "body_entity": a.entity[body],
        "support": support,
        "predicted": sizes[body],
    }
