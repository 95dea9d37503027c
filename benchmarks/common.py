"""What the benchmarks share: the machine they ran on, a table for people, JSON for scripts."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from eras import __version__
from eras.errors import ErasError
from eras.graph import Graph, load_graph

RESULTS = Path(os.environ.get("ERAS_BENCH_RESULTS", "benchmarks/results"))


def machine() -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "polars": pl.__version__,
        "eras": __version__,
    }


def publish(name: str, settings: dict[str, Any], results: dict[str, Any]) -> None:
    """Print a result and write it to RESULTS/name.json."""
    print(f"\n{name}  ({', '.join(f'{k} {v}' for k, v in settings.items())})")
    for key, value in results.items():
        print(f"  {key:<42} {_shown(value)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = {"benchmark": name, "machine": machine(), "settings": settings, "results": results}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


def _shown(value: Any) -> str:
    """A number, or a row of a table: numbers by name, which stand in columns where every row has the same ones."""
    if isinstance(value, dict):
        return "  ".join(f"{key} {_shown(part):<7}" for key, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def graph_or_stand_in(name: str, entities: int, relations: int, triples: int) -> Graph:
    """The named graph where it is at hand (ERAS_DATA or the cache), else a random one of the same size."""
    if "ERAS_DATA" in os.environ:
        try:
            return load_graph(name)
        except ErasError as error:
            print(f"  {name} is not at hand ({error})")
    print(f"  {name}: a random graph of the same size stands in; set ERAS_DATA for the real one")
    rng = np.random.default_rng(0)
    popular = rng.zipf(1.3, size=(triples, 2)) % entities  # few entities in many triples, as in real graphs
    frame = pl.DataFrame(
        {
            "head": [f"e{i}" for i in popular[:, 0]],
            "relation": [f"r{i}" for i in rng.integers(relations, size=triples)],
            "tail": [f"e{i}" for i in popular[:, 1]],
        }
    )
    return load_graph(frame, name=f"random-{name}")
