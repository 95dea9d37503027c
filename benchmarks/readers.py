"""Three ways to read the triples of a file, each to be run in a process of its own: `python -m benchmarks.readers`.

Nothing is imported before it is needed, so that the process holds only what its way of reading loads.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.process import peak_bytes

SPLITS = "train.txt.gz", "valid.txt.gz", "test.txt.gz"


def packed(source: Path) -> list[Path]:
    """The files of a folder of splits, or the one file that it is."""
    return [source / split for split in SPLITS] if source.is_dir() else [source]


def _by_eras(path: Path) -> dict[str, Any]:
    began = time.perf_counter()
    from eras.graph import load_graph

    imported = time.perf_counter()
    graph = load_graph(path)
    seconds = time.perf_counter() - imported
    triples = len(graph.train) + len(graph.valid) + len(graph.test)
    return {"seconds": seconds, "imports": imported - began, "triples": triples, "entities": len(graph.entities)}


def _by_gzip(path: Path) -> dict[str, Any]:
    return {"seconds": decompressing(path)}


def _by_polars(path: Path) -> dict[str, Any]:
    return {"seconds": reading_plain(path)}


def decompressing(source: Path) -> float:
    began = time.perf_counter()
    for path in packed(source):
        gzip.decompress(path.read_bytes())
    return time.perf_counter() - began


def reading_plain(path: Path) -> float:
    import polars as pl

    began = time.perf_counter()
    pl.read_csv(path, separator="\t", has_header=False, quote_char=None, schema=dict.fromkeys("hrt", pl.String))
    return time.perf_counter() - began


READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "load_graph": _by_eras,
    "gzip": _by_gzip,
    "read_csv": _by_polars,
}


if __name__ == "__main__":
    name, path = sys.argv[1:]
    found = READERS[name](Path(path))
    print(json.dumps({**found, "peak": peak_bytes()}))
