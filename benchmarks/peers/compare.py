"""eras and other libraries on the same data, in turn: start-up, reading, and the work of workers.

A worker trains and ranks ComplEx and answers questions with it. Every system has 256 real numbers for an entity,
Adagrad, batches of 512 and the same number of threads. All live at the same time and take turns, a stretch of steps
each; those whose turn it is not wait for input.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.graphs import SIZES, Size, graph_or_stand_in
from benchmarks.peers import reading, startup
from benchmarks.peers.client import Worker
from benchmarks.peers.environment import peers_python
from benchmarks.peers.results import publish_beside_eras
from benchmarks.peers.talk import Given
from benchmarks.turns import in_turn, median_of
from eras.graph import Graph
from eras.models.multiply import multiplies_bfloat16

RANKED = {"pykeen": 512, "torchkge": 64}
"""Validation triples that a peer ranks in a turn. Each costs it the same, and what it does once for all of them is
measured apart, so its time for the whole split follows."""

NOTES = {
    "eras": "cross entropy over all entities, both sides; batches of different questions; ranks the whole split",
    "eras_bfloat16": "the same, with `precision` bfloat16; left out where the processor has no such products",
    "pykeen": "LCWA loop, cross entropy over all entities, inverse triples; batches of different questions, as eras",
    "torchkge": "one Bernoulli negative for each triple, logistic loss: far less work for a triple; batches of triples",
}
NOTES_OF_ANSWERS = {
    "eras": "Model.predict, names in and out",
    "eras_bfloat16": "the same: what training multiplied does not matter here",
    "pykeen": "predict_target and filter_triples, names in and out; puts all entities into a sorted frame",
    "torchkge": "EntityInference with its dictionary of tails, ids in and out; sorts all entities",
}

Answers = dict[str, list[dict[str, Any]]]


def main(
    graph: str = "fb15k237",
    dim: int = 256,
    batch: int = 512,
    steps: int = 10,
    turns: int = 20,
    questions: int = 100,
    repeats: int = 5,
    ranked: Mapping[str, int] = RANKED,
    size: Size = SIZES["humangene"],
    python: Path | None = None,
) -> None:
    """`python` is the interpreter of an environment that has the peers; without it, one is made.

    Training has `turns` of its own: short ones, as the speed of a machine changes within seconds.
    `size` is that of the triples to read, where humangene is not at hand; all else is done on `graph`.
    """
    pythons = {"eras": sys.executable, **dict.fromkeys(ranked, str(python or peers_python()))}
    working = {**pythons, **({"eras_bfloat16": sys.executable} if multiplies_bfloat16() else {})}
    startup.compare(pythons, repeats)
    reading.compare(pythons, repeats, size)
    loaded = graph_or_stand_in(graph)
    valid = len(loaded.valid)
    counts = {name: min(ranked.get(name, valid), valid) for name in working}
    settings = {"dim": dim, "batch": batch, "lr": 0.1, "threads": torch.get_num_threads()}
    with ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "graph.npz"
        _given(loaded).save(path)
        workers: dict[str, Worker] = {}
        for name, own in working.items():
            print(f"  starting {name}", flush=True)
            workers[name] = stack.enter_context(Worker(name, own, {"graph": str(path), **settings}))
        training = _work(workers, turns, lambda name: {"do": "train", "steps": steps})
        ranking = _work(workers, repeats, lambda name: {"do": "rank", "triples": counts[name]})
        answering = _work(workers, repeats, lambda name: {"do": "answer", "questions": questions, "k": 10})
    about = {name: worker.about for name, worker in workers.items()}
    shown = {"graph": loaded.name, "dim": dim, "repeats": repeats}
    publish_beside_eras(
        "peers",
        {**shown, "batch": batch, "turns": turns, "steps in a turn": steps, "threads": settings["threads"]},
        {name: _row(about[name], training[name], ranking[name], valid) for name in workers},
        "epoch, s",
        "ranking, s",
        notes=NOTES,
    )
    publish_beside_eras(
        "peers_topk",
        {**shown, "k": 10, "questions in a turn": questions, "threads": 1},
        {name: _answer_row(answers) for name, answers in answering.items()},
        "answer, ms",
        notes=NOTES_OF_ANSWERS,
    )
    publish_beside_eras(
        "peers_memory",
        {**shown, "batch": batch, "threads": settings["threads"]},
        {name: _memory_row(about[name], training[name], ranking[name]) for name in workers},
        "training, MiB",
        "ranking, MiB",
    )


def _given(graph: Graph) -> Given:
    names = graph.entities.names.to_list(), graph.relations.names.to_list()
    return Given(*names, *(part.astype(np.int64) for part in (graph.train, graph.valid, graph.test)))


def _work(workers: Mapping[str, Worker], turns: int, order: Callable[[str], dict[str, Any]]) -> Answers:
    """What each system answers to its order, turn by turn."""
    print(f"  all have to {order('eras')['do']}, in turn", flush=True)
    return in_turn({name: partial(worker.ask, **order(name)) for name, worker in workers.items()}, turns)


def _row(
    about: dict[str, Any], training: list[dict[str, Any]], ranking: list[dict[str, Any]], valid: int
) -> dict[str, Any]:
    step = float(np.median([turn["seconds"] for turn in training]))
    row = {
        "step, ms": 1e3 * step,
        "steps of an epoch": about["steps_of_epoch"],
        "epoch, s": step * about["steps_of_epoch"] + median_of(training, "per_epoch"),
        "triples ranked": ranking[0]["triples"],
        "at a time": ranking[0]["batch"],
    }
    fixed, scaled = [turn["per_ranking"] for turn in ranking], median_of(ranking, "seconds")
    # What is scaled up is a difference. Where it is less than what it was taken from varies by, it says nothing.
    if ranking[0]["triples"] == valid or scaled > max(fixed) - min(fixed):
        row["ranking, s"] = float(np.median(fixed)) + scaled / ranking[0]["triples"] * valid
    return row


def _answer_row(answers: list[dict[str, Any]]) -> dict[str, Any]:
    milliseconds = 1e3 * np.concatenate([turn["seconds"] for turn in answers])
    return {
        "answer, ms": float(np.median(milliseconds)),
        "95th percentile, ms": float(np.quantile(milliseconds, 0.95)),
    }


def _memory_row(about: dict[str, Any], training: list[dict[str, Any]], ranking: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "until the first order, MiB": about["peak"] / 2**20,
        "training, MiB": median_of(training, "peak") / 2**20,
        "ranking, MiB": median_of(ranking, "peak") / 2**20,
    }
