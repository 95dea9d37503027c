"""How well each estimator ranks structures: Kendall's τ with the validation MRR of full stand-alone training.

    python -m benchmarks.estimators umls --dim 64 --epochs 60

Full training depends on its seed, so no estimator can be expected to agree with it better than it agrees with itself:
the τ between two seeds is the ceiling. Every trial is saved as soon as it is known, so a study that was killed goes on.
This takes minutes on the smallest graphs and is not part of `python -m benchmarks`.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from joblib import Parallel, delayed, parallel_config

from benchmarks.common import RESULTS, publish, run
from eras.files import read_json, write_json
from eras.graph import TrainingView, load_graph
from eras.scoring import ScoringFunction, Structure
from eras.search.config import SearchConfig, method_config
from eras.search.estimators.oneshot import Measure, OneShot
from eras.search.estimators.standalone import StandAlone
from eras.search.oneshot import OneShotSearch
from eras.search.plan import cheaper
from eras.search.space import Candidate, Space
from eras.search.start import published
from eras.training import TrainConfig, recommend

BLOCKS = 4
DENSITIES = 0.3, 0.45, 0.6, 0.8
FULL_SEEDS, TRIAL_SEED = (0, 1), 2
MEASURES: tuple[Measure, ...] = ("mrr", "loss")
SUPERNETS: dict[str, dict[str, Any]] = {
    "one-shot, U = 8, not anchored": {"functions": 8, "anchored": False},
    "one-shot, U = 8": {"functions": 8},
    "one-shot, fair": {"sampling": "fair"},
    "one-shot, U = 1": {"functions": 1},
    "one-shot, U = 4": {"functions": 4},
    "one-shot, U = 16": {"functions": 16},
}
"""What the supernets differ in. They train what a policy samples that is never taught; anchored unless it says not."""

Floats = npt.NDArray[np.float64]
Facts = dict[str, float]


def main() -> None:
    given = _arguments()
    view = load_graph(given.graph).training_view()
    config = recommend(view, BLOCKS, dim=given.dim, epochs=given.epochs, reciprocal=False, **cheaper(view))
    study = Study(view, config, draw(given.structures, given.seed), given.workers)

    trained = [study.stand_alone(seed, given.epochs) for seed in FULL_SEEDS]
    full = np.stack([mrr for mrr, _ in trained])
    ceiling = kendall(*full)
    agreement = {"tau": ceiling, "se": standard_error(*full), "highest": float(full.max())}
    rows = {f"full, {given.epochs} epochs: seed 0 with seed 1": {**agreement, "s/structure": trained[0][1]}}

    def add(name: str, estimates: Floats, seconds: float) -> None:
        by_seed = [kendall(estimates, one) for one in full]
        rows[name] = {
            "tau": kendall(estimates, full.mean(0)),
            "se": standard_error(estimates, full.mean(0)),
            **{f"seed {seed}": tau for seed, tau in zip(FULL_SEEDS, by_seed, strict=True)},
            **({"share": float(np.mean(by_seed)) / ceiling} if ceiling > 0 else {}),
            "highest": float(estimates.max()),
            "s/structure": seconds,
        }

    for epochs in given.trial_epochs:
        add(f"stand-alone, {epochs} epochs", *study.stand_alone(TRIAL_SEED, epochs))
    study.train_supernets(given.supernets, given.supernet_epochs, given.seed)
    for name, measure in itertools.product(given.supernets, MEASURES):
        add(f"{name}, {measure}", *study.one_shot(name, given.supernet_epochs, given.seed, measure))

    settings = {key: value for key, value in vars(given).items() if key not in ("graph", "workers")}
    used = {key: getattr(config, key) for key in ("batch_size", "negatives", "lr", "regulariser", "reg_weight")}
    publish(
        f"estimators-{view.name}",
        {"graph": view.name, **settings, **used},
        {name: _rounded(row) for name, row in rows.items()},
    )


def _rounded(row: Facts) -> Facts:
    return {key: round(value, 3) for key, value in row.items()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimators", description=__doc__.splitlines()[0])
    parser.add_argument("graph", help="a name such as umls, or a path")
    parser.add_argument("--structures", type=int, default=36, help="how many are ranked; the hand-designed come first")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=60, help="epochs of full training")
    parser.add_argument("--trial-epochs", type=int, nargs="+", help="of low-fidelity training; 1/6 and 1/3 of full")
    parser.add_argument("--supernet-epochs", type=int, help="as many as full training")
    parser.add_argument("--supernets", nargs="*", choices=SUPERNETS, default=list(SUPERNETS), help="all of them")
    parser.add_argument("--seed", type=int, default=0, help="decides structures and supernets; trials have seeds 0 … 2")
    parser.add_argument("--workers", type=int, help="trainings side by side, one thread each; all cores")
    given = parser.parse_args()
    given.trial_epochs = given.trial_epochs or sorted({max(1, round(given.epochs / part)) for part in (6, 3)})
    given.supernet_epochs = given.supernet_epochs or given.epochs
    return given


def draw(count: int, seed: int) -> list[Structure]:
    """The hand-designed structures, then random ones from sparse to dense; no two of them equivalent."""
    rng, space = np.random.default_rng(seed), Space(BLOCKS, 1)
    found = dict.fromkeys(published(BLOCKS).values())
    for density in itertools.cycle(DENSITIES):
        if len(found) >= count:
            break
        found.setdefault(space.sample(rng, density)[0])
    return list(found)[:count]


class Study:
    """What is known of each structure, in memory and on disk."""

    def __init__(
        self, view: TrainingView, config: TrainConfig, structures: Sequence[Structure], workers: int | None
    ) -> None:
        self.view, self.config, self.structures = view, config, structures
        self.workers = StandAlone(view, config, workers).workers
        self.path = RESULTS / f"estimators-{view.name}-partial.json"
        self.known: dict[str, Facts] = read_json(self.path) if self.path.exists() else {}
        same = config.model_dump_json(exclude={"seed", "epochs", "validate_every", "patience", "memory_mb"})
        self.digest = hashlib.sha256(same.encode()).hexdigest()[:8]

    def stand_alone(self, seed: int, epochs: int) -> tuple[Floats, float]:
        """(MRR of each structure, seconds for one)."""
        label = f"stand-alone, seed {seed}, {epochs} epochs"
        missing = self._missing(label)
        estimator = StandAlone(self.view, self.config.updated(seed=seed), self.workers)
        trials = estimator.measure([ScoringFunction([s]) for s in missing], epochs)
        for structure, trial in zip(missing, trials, strict=True):
            self._save(label, [structure], [{"mrr": trial.mrr, "seconds": trial.seconds}])
        return self._column(label, "mrr"), float(self._column(label, "seconds").mean())

    def train_supernets(self, names: Sequence[str], epochs: int, seed: int) -> None:
        """Train the supernets that are needed, side by side."""
        labels = {name: _supernet_label(name, epochs, seed) for name in names}
        needed = [name for name, label in labels.items() if self._missing(label)]
        with parallel_config("loky", inner_max_num_threads=1):
            found = Parallel(n_jobs=self.workers, return_as="generator")(
                delayed(judge_by_supernet)(self.view, self._search_config(name, seed), epochs, self.structures)
                for name in needed
            )
            for name, facts in zip(needed, found, strict=True):
                self._save(labels[name], self.structures, facts)

    def one_shot(self, name: str, epochs: int, seed: int, measure: Measure) -> tuple[Floats, float]:
        """(reward of each structure, seconds for one: the supernet's training is shared by all of them)."""
        label = _supernet_label(name, epochs, seed)
        training = self._column(label, "training seconds").mean() / len(self.structures)
        return self._column(label, measure), float(training + self._column(label, f"{measure} seconds").mean())

    def _search_config(self, name: str, seed: int) -> SearchConfig:
        training = self.config.updated(seed=seed)
        return method_config("eras-n1", blocks=BLOCKS, seed=seed, training=training, **SUPERNETS[name])

    def _key(self, label: str, structure: Structure) -> str:
        return f"settings {self.digest}, {label}: {structure}"

    def _missing(self, label: str) -> list[Structure]:
        missing = [s for s in self.structures if self._key(label, s) not in self.known]
        print(f"  {label}: {len(self.structures) - len(missing)} of {len(self.structures)} known", flush=True)
        return missing

    def _save(self, label: str, structures: Sequence[Structure], facts: Sequence[Facts]) -> None:
        self.known |= {self._key(label, s): about for s, about in zip(structures, facts, strict=True)}
        RESULTS.mkdir(parents=True, exist_ok=True)
        write_json(self.path, self.known)

    def _column(self, label: str, fact: str) -> Floats:
        return np.array([self.known[self._key(label, s)][fact] for s in self.structures])


def _supernet_label(name: str, epochs: int, seed: int) -> str:
    return f"{name}, seed {seed}, {epochs} epochs"


def judge_by_supernet(
    view: TrainingView, config: SearchConfig, epochs: int, structures: Sequence[Structure]
) -> list[Facts]:
    """Train a supernet on one thread, as trials are; then the reward of each structure, by each measure."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        search = OneShotSearch(view, config, Path(folder))
        began = time.perf_counter()
        for _ in range(epochs):
            search.train_embeddings()
            search.epoch += 1
        facts: list[Facts] = [{"training seconds": time.perf_counter() - began} for _ in structures]
    tokens = np.stack([search.space.encode((s,)) for s in structures])
    decoded = [search.space.decode(row) for row in (search.space.anchor(tokens) if config.anchored else tokens)]
    candidates: list[Candidate] = [c for c in decoded if c is not None]
    for measure in MEASURES:
        judge = OneShot(search.supernet, view, measure, config.training.memory_mb)
        asked = judge.draw(None, np.random.default_rng(0))
        for candidate, about in zip(candidates, facts, strict=True):
            began = time.perf_counter()
            about[measure] = float(judge.rewards([candidate], asked).sum())
            about[f"{measure} seconds"] = time.perf_counter() - began
    return facts


# --- agreement -----------------------------------------------------------------------------------------------


def kendall(x: Floats, y: Floats) -> float:
    """Kendall's τ-b."""
    return float(_kendall(x, y, np.ones((1, len(x))))[0])


def standard_error(x: Floats, y: Floats, resamples: int = 1000) -> float:
    """The standard deviation of τ over bootstrap samples of the structures."""
    counts = np.random.default_rng(0).multinomial(len(x), np.full(len(x), 1 / len(x)), size=resamples)
    return float(np.nanstd(_kendall(x, y, counts.astype(np.float64))))


def _kendall(x: Floats, y: Floats, counts: Floats) -> Floats:
    """τ-b of each of B samples that contain point i as often as counts (B, n) says."""
    dx, dy = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    agreement, x_pairs, y_pairs = (((counts @ pairs) * counts).sum(1) for pairs in (dx * dy, dx**2, dy**2))
    tau: Floats = agreement / np.sqrt(x_pairs * y_pairs)
    return tau


if __name__ == "__main__":
    run(main)
