"""Sampled candidates beside all entities: what they save in time, and what they cost in MRR.

Time comes from steps that take turns, on each graph. For the MRR a function is trained twice with the same settings and
as many epochs, once against all entities, once against samples with full epochs at the end; both are judged as training
judges, on validation. That takes minutes for each graph, so it is no part of `make bench`.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import publish, run
from benchmarks.graphs import graph_or_stand_in
from benchmarks.turns import Action, full_batches, median_ratio, take_turns, timed
from eras.evaluation import Selection
from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.training import TrainConfig, Trainer, recommend
from eras.training.defaults import NEGATIVES, SAMPLED_BATCH
from eras.training.stepper import BlockStepper

FUNCTION = "complex"


def main(
    graphs: Sequence[str] = ("fb15k237", "wn18rr"),
    large: Sequence[str] = ("humangene",),
    dim: int = 128,
    epochs: int = 15,
    full_epochs: int = 2,
) -> None:
    times: dict[str, dict[str, Any]] = {}
    for name in (*large, *graphs):
        view = graph_or_stand_in(name).training_view()
        times[f"{view.name}, dim {256 if name in large else dim}"] = pace(view, 256 if name in large else dim)
    publish("sampled_epoch", {"function": FUNCTION, "negatives": NEGATIVES, "batch": SAMPLED_BATCH}, times)

    judged: dict[str, dict[str, Any]] = {}
    for name in graphs:
        view = graph_or_stand_in(name).training_view()
        for way, settings in _ways(full_epochs).items():
            given = {"dim": dim, "epochs": epochs, "validate_every": 3, "patience": epochs, **settings}
            judged[f"{view.name}, {way}"] = trained(view, recommend(view, 2, **given))
    settings = {"function": FUNCTION, "dim": dim, "epochs": epochs, "negatives": NEGATIVES, "seed": 0}
    publish("sampled", settings, judged)


def _ways(full_epochs: int) -> dict[str, dict[str, Any]]:
    batch = {"batch_size": SAMPLED_BATCH}
    return {
        "all entities": {**batch, "negatives": 0},
        "sampled": {**batch, "negatives": NEGATIVES},
        f"sampled, then {full_epochs} full epochs": {**batch, "negatives": NEGATIVES, "full_epochs": full_epochs},
    }


def pace(view: TrainingView, dim: int, least: int = 5, seconds: float = 10.0) -> dict[str, Any]:
    """Steps against all entities and against samples, in turn."""
    queries = Queries.of(view.train, len(view.entities), len(view.relations))
    full, sampled = (_step(view, queries, dim, negatives) for negatives in (0, NEGATIVES))
    take_turns(full, sampled, least=2)  # the first steps of a process are slow
    all_entities, sample = take_turns(full, sampled, least=least, seconds=seconds)
    return {
        "entities": len(view.entities),
        "full step, ms": 1e3 * statistics.median(all_entities),
        "sampled step, ms": 1e3 * statistics.median(sample),
        "full / sampled": median_ratio(all_entities, sample),
    }


def _step(view: TrainingView, queries: Queries, dim: int, negatives: int) -> Action:
    config = TrainConfig(dim=dim, batch_size=SAMPLED_BATCH, negatives=negatives)
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
    row = {"selection MRR": progress.best_mrr, "best epoch": progress.best_epoch + 1, "steps, s": progress.seconds}
    print(f"  {view.name}, negatives {config.negatives}, full epochs {config.full_epochs}: {row}", flush=True)
    return row


if __name__ == "__main__":
    run(main)
