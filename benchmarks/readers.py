"""Ways to read the triples of a file, each to be run in a process of its own: `python -m benchmarks.readers`.

Nothing is imported before it is needed, so that the process holds only what its way of reading loads. Those of the
peers run in the peers' environment.
"""

from __future__ import annotations

import csv
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

    imports, before = time.perf_counter() - began, peak_bytes()
    began = time.perf_counter()
    graph = load_graph(path)
    seconds = time.perf_counter() - began
    triples = len(graph.train) + len(graph.valid) + len(graph.test)
    return {**_read(seconds, before, triples, len(graph.entities)), "imports": imports}


def _by_gzip(path: Path) -> dict[str, Any]:
    return {"seconds": decompressing(path)}


def _by_polars(path: Path) -> dict[str, Any]:
    return {"seconds": reading_plain(path)}


def _by_pykeen(path: Path) -> dict[str, Any]:
    from pykeen.triples import TriplesFactory  # type: ignore[import-not-found]  # only in the peers' environment

    began, before = time.perf_counter(), peak_bytes()
    factory = TriplesFactory.from_path(path)
    return _read(time.perf_counter() - began, before, factory.num_triples, factory.num_entities)


def _by_torchkge(path: Path) -> dict[str, Any]:
    import pandas
    from torchkge import KnowledgeGraph  # type: ignore[import-not-found]  # only in the peers' environment

    columns = ["from", "rel", "to"]
    began, before = time.perf_counter(), peak_bytes()
    # Without the last two, a name such as NA would be no name, and a quotation mark would hide what follows it.
    read = pandas.read_csv(path, sep="\t", names=columns, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE)
    graph = KnowledgeGraph(df=read)
    return _read(time.perf_counter() - began, before, graph.n_facts, graph.n_ent)


def _read(seconds: float, before: int, triples: int, entities: int) -> dict[str, Any]:
    """What was read and how; `before` is the peak of the imports alone."""
    return {"seconds": seconds, "before": before, "triples": triples, "entities": entities}


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
    "eras": _by_eras,
    "gzip": _by_gzip,
    "read_csv": _by_polars,
    "pykeen": _by_pykeen,
    "torchkge": _by_torchkge,
}


if __name__ == "__main__":
    name, path = sys.argv[1:]
    found = READERS[name](Path(path))
    print(json.dumps({**found, "peak": peak_bytes()}))
