"""What a triple costs in time, and an entity in memory, as graphs grow from 10⁴ to 10⁶ entities.

Graphs are planted, with about ten triples for each entity. Each is made in a process of its own, which leaves integers
on disk, and trained in further ones, which load only these: so the peak of a process is that of training alone. Time is
that of a stretch of steps, extrapolated to the epoch and divided by the training triples.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.process import in_own_process, peak_bytes

SIZES = 10_000, 31_623, 100_000, 316_228, 1_000_000
KINDS = {"full": 0, "sampled": 4096}
"""Entities sampled as candidates in a step; 0 compares all entities."""

RELATIONS = 13
"""Those that `Plan` has by default."""


def main(sizes: Sequence[int] = SIZES, dim: int = 64, batch: int = 512, seconds: float = 10.0, least: int = 3) -> None:
    from benchmarks.common import RESULTS, publish

    baseline = in_own_process("benchmarks.growth", json.dumps({"do": "imports"}))["peak"]
    rows: dict[str, dict[str, Any]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "triples.npy"
            print(f"  planting about {size:,} entities and {10 * size:,} triples", flush=True)
            planted = in_own_process(
                "benchmarks.growth", json.dumps({"do": "plant", "entities": size, "path": str(path)})
            )
            row: dict[str, Any] = {"triples": planted["triples"], "planting, s": planted["seconds"]}
            for kind, negatives in KINDS.items():
                order = {"do": "train", "path": str(path), "entities": planted["entities"], "dim": dim, "batch": batch}
                order |= {"negatives": negatives, "seconds": seconds, "least": least}
                found = in_own_process("benchmarks.growth", json.dumps(order))
                row[f"{kind}, steps"] = found["taken"]
                row[f"{kind}, µs/triple"] = 1e6 * found["step"] * found["steps"] / planted["triples"]
                row[f"{kind}, bytes/entity"] = (found["peak"] - baseline) / planted["entities"]
        rows[f"{planted['entities']:,}"] = row
    settings = {"dim": dim, "batch": batch, "negatives of sampled": KINDS["sampled"], "baseline, MiB": baseline >> 20}
    publish("growth", settings, rows)
    path = RESULTS / "growth.svg"
    draw(rows, dim, path)
    print(f"  drawn in {path}")


def draw(rows: dict[str, dict[str, Any]], dim: int, path: Path) -> None:
    """Two panels over the number of entities, all axes logarithmic: time of a triple, memory of an entity."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    from eras.report.figure import GREY, STYLE, marks, save

    entities = [int(name.replace(",", "")) for name in rows]
    labels = {"full": "all entities compared", "sampled": f"{KINDS['sampled']:,} sampled"}
    panels = {"µs/triple": "µs per triple", "bytes/entity": "bytes per entity"}
    with matplotlib.rc_context({**STYLE, "text.parse_math": True}):  # the labels of logarithmic axes are powers
        figure = Figure(figsize=(9.0, 3.8), layout="tight")
        for axes, (column, label) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for kind, (colour, marker) in zip(KINDS, marks(), strict=False):
                values = [row[f"{kind}, {column}"] for row in rows.values()]
                axes.plot(entities, values, color=colour, marker=marker, markersize=5, label=labels[kind])
            axes.set(xscale="log", yscale="log", xlabel="entities", ylabel=label)
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
            if column == "bytes/entity":
                tables = 3 * 4 * dim
                axes.axhline(tables, color=GREY, linewidth=1, linestyle="--", label=f"three tables: {tables}")
            axes.legend(loc="best")
        figure.suptitle(f"Training ComplEx, dim {dim}, on planted graphs", fontsize=12, x=0.01, ha="left")
        save(figure, path)


# --- in processes of their own ---------------------------------------------------------------------------


def plant_graph(entities: int, path: str) -> dict[str, Any]:
    import numpy as np

    from eras.graph.planted import Plan, plant

    began = time.perf_counter()
    # Noise reaches entities that are nobody's best tail; without it an eighth of them would not occur.
    plan = Plan(entities=entities, triples_per_relation=10 * entities // RELATIONS, tails_per_head=10, noise=0.3)
    graph = plant(plan, holdout=(0.01, 0.01)).graph
    np.save(path, graph.train)
    return {
        "entities": len(graph.entities),
        "triples": len(graph.train),
        "seconds": time.perf_counter() - began,
    }


def train(path: str, entities: int, dim: int, batch: int, negatives: int, seconds: float, least: int) -> dict[str, Any]:
    import numpy as np

    from benchmarks.turns import full_batches, take_turns, timed
    from eras.graph.queries import Queries
    from eras.models import BlockBilinear
    from eras.scoring import named
    from eras.training import TrainConfig
    from eras.training.stepper import BlockStepper

    config = TrainConfig(dim=dim, batch_size=batch, negatives=negatives, optimiser="adagrad")
    names = [str(number) for number in range(RELATIONS)]
    queries = Queries.of(np.load(path), entities, RELATIONS)
    model = BlockBilinear(named("complex"), names, entities, dim, reciprocal=True)
    model.initialise(0, config.init, config.init_scale)
    stepper = BlockStepper(model, queries, config)
    places = full_batches(len(queries) // batch)
    take_step = timed(lambda: stepper.step(*next(places)))
    take_step()  # the first step of a process is slow
    [taken] = take_turns(take_step, least=least, seconds=seconds)
    return {"step": statistics.median(taken), "steps": stepper.steps, "taken": len(taken), "peak": peak_bytes()}


def imports() -> dict[str, Any]:
    """What `train` imports, and nothing else."""
    import eras.models
    import eras.scoring
    import eras.training.fused
    import eras.training.stepper  # noqa: F401

    return {"peak": peak_bytes()}


DO: dict[str, Callable[..., dict[str, Any]]] = {"imports": imports, "plant": plant_graph, "train": train}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        order = json.loads(sys.argv[1])
        print(json.dumps(DO[order.pop("do")](**order)))
    else:
        from benchmarks.common import run

        run(main)
