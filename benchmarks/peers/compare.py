"""ComplEx by eras and by other libraries: an epoch and a ranking, on the same triples, in turn.

Every system has 256 real numbers for an entity, Adagrad, batches of 512 and the same number of threads. All live at the
same time and take turns, a stretch of steps each; those whose turn it is not wait for input.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.common import publish
from benchmarks.graphs import graph_or_stand_in
from benchmarks.peers.client import Peer
from benchmarks.peers.environment import REQUIREMENTS, peers_python
from benchmarks.peers.talk import SPLITS
from benchmarks.turns import full_batches
from eras.evaluation import rank
from eras.graph import Graph
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.training import TrainConfig
from eras.training.stepper import BlockStepper

RANKED = {"pykeen": 512, "torchkge": 64}
"""Validation triples that a peer ranks in a turn. Each costs it the same, and what it does once for all of them is
measured apart, so its time for the whole split follows."""

NOTES = {
    "eras": "cross entropy over all entities, both sides; batches of different questions; ranks the whole split",
    "pykeen": "LCWA loop, cross entropy over all entities, inverse triples; batches of different questions, as eras",
    "torchkge": "one Bernoulli negative for each triple, logistic loss: far less work for a triple; batches of triples",
}

Ask = Callable[..., dict[str, Any]]


def main(
    graph: str = "fb15k237",
    dim: int = 256,
    batch: int = 512,
    steps: int = 20,
    repeats: int = 3,
    ranked: Mapping[str, int] = RANKED,
    python: Path | None = None,
) -> None:
    """`python` is the interpreter of an environment that has the peers; without it, one is made."""
    python = python or peers_python()
    loaded = graph_or_stand_in(graph)
    sizes = {"entities": len(loaded.entities), "relations": len(loaded.relations)}
    settings = {**sizes, "dim": dim, "batch": batch, "lr": 0.1, "threads": torch.get_num_threads()}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for split in SPLITS:
            np.save(Path(folder) / f"{split}.npy", loaded.split(split))
        ours = Eras(loaded, dim, batch, 0.1)
        about: dict[str, dict[str, Any]] = {"eras": ours.about}
        ask: dict[str, Ask] = {"eras": ours.ask}
        for name in ranked:
            print(f"  starting {name}", flush=True)
            peer = stack.enter_context(Peer(name, python, {"folder": folder, **settings}))
            about[name], ask[name] = peer.about, peer.ask
        training = _turns(ask, repeats, lambda name: {"do": "train", "steps": steps})
        counts = {"eras": len(loaded.valid), **{name: min(n, len(loaded.valid)) for name, n in ranked.items()}}
        ranking = _turns(ask, repeats, lambda name: {"do": "rank", "triples": counts[name]})
    rows = {name: _row(about[name], training[name], ranking[name], len(loaded.valid)) for name in ask}
    for row in rows.values():
        row["epoch / eras"] = row["epoch, s"] / rows["eras"]["epoch, s"]
        row["ranking / eras"] = row["ranking, s"] / rows["eras"]["ranking, s"]
    shown = {"graph": loaded.name, "dim": dim, "batch": batch, "steps in a turn": steps, "repeats": repeats}
    versions = {"peers": " ".join(REQUIREMENTS.read_text().split())}
    publish("peers", {**shown, "threads": settings["threads"], **versions}, rows, NOTES)


def _turns(ask: Mapping[str, Ask], repeats: int, order: Callable[[str], dict[str, Any]]) -> dict[str, list[Any]]:
    """The answers of each system, turn by turn."""
    answers: dict[str, list[Any]] = {name: [] for name in ask}
    for turn in range(repeats):
        for name, system in ask.items():
            print(f"  turn {turn + 1} of {repeats}: {name} has to {order(name)['do']}", flush=True)
            answers[name].append(system(**order(name)))
    return answers


def _row(about: dict[str, Any], training: list[Any], ranking: list[Any], valid: int) -> dict[str, Any]:
    step = statistics.median(turn["seconds"] / turn["steps"] for turn in training)
    per_epoch = statistics.median(turn["per_epoch"] for turn in training)
    ranked = statistics.median(turn["per_ranking"] + turn["seconds"] / turn["triples"] * valid for turn in ranking)
    return {
        "step, ms": 1e3 * step,
        "steps of an epoch": about["steps_of_epoch"],
        "epoch, s": step * about["steps_of_epoch"] + per_epoch,
        "epoch / eras": 0.0,
        "triples ranked": ranking[0]["triples"],
        "at a time": ranking[0]["batch"],
        "ranking, s": ranked,
        "ranking / eras": 0.0,
    }


class Eras:
    """eras, asked like a peer."""

    def __init__(self, graph: Graph, dim: int, batch: int, lr: float) -> None:
        sizes = len(graph.entities), len(graph.relations)
        self.graph = graph
        self.model = BlockBilinear(named("complex"), graph.relations.names.to_list(), sizes[0], dim, reciprocal=True)
        config = TrainConfig(dim=dim, batch_size=batch, optimiser="adagrad", lr=lr, regulariser="none", reg_weight=0.0)
        self.model.initialise(0, config.init, config.init_scale)
        queries = Queries.of(graph.train, *sizes)
        self.stepper = BlockStepper(self.model, queries, config)
        self.places = full_batches(len(queries) // batch)
        self.asked, self.known = Queries.of(graph.valid, *sizes), Queries.of(graph.facts, *sizes)
        self.about = {"steps_of_epoch": self.stepper.steps}
        self._train(3)

    def ask(self, do: str, steps: int = 0, triples: int = 0) -> dict[str, Any]:
        if do == "train":
            return {"seconds": self._train(steps), "steps": steps, "per_epoch": 0.0}
        began = time.perf_counter()
        rank(self.model, self.asked, self.known)
        return {"seconds": time.perf_counter() - began, "per_ranking": 0.0, "triples": triples, "batch": "all"}

    def _train(self, steps: int) -> float:
        began = time.perf_counter()
        for _ in range(steps):
            self.stepper.step(*next(self.places))
        return time.perf_counter() - began
