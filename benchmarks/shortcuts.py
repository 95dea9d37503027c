"""Cheaper steps: sampled candidates and products of bfloat16, what they save in time and what they cost in MRR.

Time comes from steps that take turns, on each graph. For the MRR a function is trained in each way with otherwise the
same settings and as many epochs, and judged as training judges, on validation. That takes minutes for each graph, so it
is no part of `make bench`.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import publish, run
from benchmarks.graphs import graph_or_stand_in
from benchmarks.turns import Action, full_batches, take_turns, timed
from eras.evaluation import Selection
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.models.multiply import multiplies_bfloat16
from eras.scoring import named
from eras.training import TrainConfig, Trainer, recommend
from eras.training.defaults import NEGATIVES, SAMPLED_BATCH
from eras.training.stepper import BlockStepper

FUNCTION = "complex"

Ways = dict[str, dict[str, Any]]
"""Settings by name; the first is the plain way."""


def main(
    graphs: Sequence[str] = ("fb15k237", "wn18rr"),
    large: Sequence[str] = ("humangene",),
    dim: int = 128,
    epochs: int = 15,
    full_epochs: int = 2,
    seed: int = 0,
) -> None:
    settings = {"function": FUNCTION, "negatives": NEGATIVES, "batch": SAMPLED_BATCH}
    steps: Ways = {"plain": {"negatives": 0}, "sampled": {"negatives": NEGATIVES}}
    if multiplies_bfloat16():
        steps |= {"bfloat16": {"precision": "bfloat16"}}
        steps |= {"both": {**steps["sampled"], **steps["bfloat16"]}}
    times: dict[str, dict[str, Any]] = {}
    for name in (*large, *graphs):
        view = graph_or_stand_in(name).training_view()
        times[f"{view.name}, dim {256 if name in large else dim}"] = pace(view, 256 if name in large else dim, steps)
    publish("shortcuts_step", settings, times)

    trainings = {**steps, f"sampled, then {full_epochs} full epochs": {**steps["sampled"], "full_epochs": full_epochs}}
    judged: dict[str, dict[str, Any]] = {}
    for name in graphs:
        view = graph_or_stand_in(name).training_view()
        for way, own in trainings.items():
            given = {"batch_size": SAMPLED_BATCH, "negatives": 0, "dim": dim, "epochs": epochs, "seed": seed, **own}
            row = trained(view, recommend(view, 2, validate_every=3, patience=epochs, **given))
            judged[f"{view.name}, {way}"] = row
            print(f"  {view.name}, {way}: {row}", flush=True)
    publish("shortcuts", {**settings, "dim": dim, "epochs": epochs, "seed": seed}, judged)


def pace(view: TrainingView, dim: int, ways: Ways, least: int = 5, seconds: float = 20.0) -> dict[str, Any]:
    """Steps in each of the ways, in turn."""
    queries = Queries.of(view.train, len(view.entities), len(view.relations))
    actions = [_step(view, queries, dim, settings) for settings in ways.values()]
    take_turns(*actions, least=2)  # the first steps of a process are slow
    taken = take_turns(*actions, least=least, seconds=seconds)
    medians = {way: statistics.median(times) for way, times in zip(ways, taken, strict=True)}
    first, *others = medians
    return {
        "entities": len(view.entities),
        **{f"{way}, ms": 1e3 * median for way, median in medians.items()},
        **{f"{first} / {way}": medians[first] / medians[way] for way in others},
    }


def _step(view: TrainingView, queries: Queries, dim: int, settings: dict[str, Any]) -> Action:
    config = TrainConfig(dim=dim, batch_size=SAMPLED_BATCH).updated(**settings)
    names = view.relations.names.to_list()
    model = BlockBilinear(named(FUNCTION), names, len(view.entities), dim, reciprocal=True)
    model.initialise(0, config.init, config.init_scale)
    stepper = BlockStepper(model, queries, config)
    places = ((0, step) for _, step in full_batches(len(queries) // SAMPLED_BATCH))
    return timed(lambda: stepper.step(*next(places)))


def trained(view: TrainingView, config: TrainConfig) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        judge = Selection.of(view, config.memory_mb)
        trainer = Trainer(view, named(FUNCTION), config, Path(folder), judge.mrr)
        trainer.run()
    progress = trainer.progress
    return {"selection MRR": progress.best_mrr, "best epoch": progress.best_epoch + 1, "steps, s": progress.seconds}


if __name__ == "__main__":
    run(main)
