"""Time and memory of reading a graph of a million triples, imports included, in a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import publish

SCRIPT = """
import json, resource, sys, time
began = time.perf_counter()
from eras.graph import load_graph
graph = load_graph(sys.argv[1])
print(json.dumps({
    "triples": len(graph.train) + len(graph.valid) + len(graph.test),
    "entities": len(graph.entities),
    "seconds, imports included": time.perf_counter() - began,
    "peak memory, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def main() -> None:
    source = Path(os.environ.get("ERAS_DATA", "")) / "humangene"
    with tempfile.TemporaryDirectory() as folder:
        if "ERAS_DATA" not in os.environ or not source.is_dir():
            source = Path(folder) / "random.tsv.gz"
            _write_random(source)
        finished = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(source)], check=True, capture_output=True, text=True
        )
    publish("reading", {"graph": source.name}, json.loads(finished.stdout))


def _write_random(path: Path, triples: int = 1_094_039, entities: int = 99_311) -> None:
    rng = np.random.default_rng(0)
    columns = (
        rng.integers(entities, size=triples),
        rng.integers(23, size=triples),
        rng.integers(entities, size=triples),
    )
    with gzip.open(path, "wt", compresslevel=1) as stream:
        stream.writelines(f"entity:{h}\trelation:{r}\tentity:{t}\n" for h, r, t in zip(*columns, strict=True))


if __name__ == "__main__":
    main()
