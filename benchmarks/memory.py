"""Peak memory of a process that trains ComplEx on a large graph, saves it and ranks some of its validation split.

Beside it stand what nobody can do without (parameters and the state of the optimiser), the budget for scores, and
processes that stop before: after the imports, and after loading the graph. The first process on a machine compiles,
which takes memory too; so one goes before those that count.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.process import in_own_process, peak_bytes

ALLOWED = 1.5
"""Times parameters and state: with Adagrad these are two tables of a kind, and the gradients a third."""


def main(graph: str = "humangene", dim: int = 256, steps: int = 5, ranked: int = 2000, memory_mb: int = 512) -> None:
    from benchmarks.common import publish
    from benchmarks.graphs import graph_or_stand_in

    loaded = graph_or_stand_in(graph)
    settings = {"dim": dim, "steps": steps, "ranked": ranked, "memory_mb": memory_mb}
    measured = [
        in_own_process("benchmarks.memory", json.dumps({"until": stage, "graph": graph, **settings}))
        for stage in ("end", "imports", "graph", "end")
    ]
    first, imports, with_graph, whole = (facts["peak"] for facts in measured)
    stages = measured[-1]["stages"]
    tables = 4 * dim * (len(loaded.entities) + 2 * len(loaded.relations))
    state, budget = tables, memory_mb << 20
    bound = ALLOWED * (tables + state) + budget
    mib = {
        "imports alone": imports,
        "with the graph": with_graph,
        "parameters": tables,
        "optimiser state": state,
        "budget for scores": budget,
        **{f"peak after {stage}": peak for stage, peak in stages.items()},
        "peak": whole,
        "peak of the first such process": first,
        "1.5 × (parameters + state) + budget": bound,
    }
    publish(
        "memory",
        {"graph": loaded.name, "function": "complex", "optimiser": "adagrad", **settings},
        {f"{name}, MiB": size / 2**20 for name, size in mib.items()}
        | {
            "peak / (1.5 × (parameters + state) + budget)": whole / bound,
            "(peak − with the graph) / the same": (whole - with_graph) / bound,
        },
    )


# --- in a process of its own -----------------------------------------------------------------------------


def live(until: str, graph: str, dim: int, steps: int, ranked: int, memory_mb: int) -> dict[str, Any]:
    """Train as `eras train` does, as far as asked; the peak at the end, and after each stage."""
    from eras.evaluation import rank
    from eras.graph.queries import Queries
    from eras.scoring import named
    from eras.training import TrainConfig, Trainer, fused  # noqa: F401  # loads numba, as training does

    stages: dict[str, int] = {}
    if until != "imports":
        from benchmarks.graphs import graph_or_stand_in

        view = graph_or_stand_in(graph).training_view()
    if until == "end":
        sizes = len(view.entities), len(view.relations)
        config = TrainConfig(dim=dim, optimiser="adagrad", memory_mb=memory_mb)
        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(view, named("complex"), config, Path(folder), lambda model: 0.0)
            stages["building"] = peak_bytes()
            for step in range(steps):
                trainer.stepper.step(0, step)
            stages["training"] = peak_bytes()
            trainer.save()
            stages["checkpoint"] = peak_bytes()
            asked, known = Queries.of(view.valid[:ranked], *sizes), Queries.of(view.train, *sizes)
            rank(trainer.model, asked, known, memory_mb=memory_mb)
            stages["ranking"] = peak_bytes()
    return {"peak": peak_bytes(), "stages": stages}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(live(**json.loads(sys.argv[1]))))
    else:
        from benchmarks.common import run

        run(main)
