from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from graph_files import RING, lines, write

from eras.errors import DamagedError, OutputError
from eras.graph import Graph, load_graph, read_graph, write_graph

FILES = ("entities.parquet", "relations.parquet", "triples.parquet", "graph.json")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    labels = write(tmp_path / "labels.tsv.gz", "e1\tone\ne2\ttwo\n")
    return load_graph(write(tmp_path / "ring.tsv", lines(RING)), labels=labels)


@pytest.fixture
def folder(graph: Graph, tmp_path: Path) -> Path:
    write_graph(graph, tmp_path / "model" / "graph")
    return tmp_path / "model" / "graph"


def test_a_graph_comes_back_whole(graph: Graph, folder: Path) -> None:
    again = read_graph(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert (again.name, again.notes, again.fingerprint) == (graph.name, graph.notes, graph.fingerprint)
    for split in ("train", "valid", "test"):
        assert np.array_equal(again.split(split), graph.split(split))
        assert again.split(split).dtype == np.int32
    assert again.entities.id("two") == graph.entities.id("e2")
    assert again.relations.labels is None


@pytest.mark.parametrize("name", FILES)
def test_missing_and_truncated_files_are_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(DamagedError, match=name):
        read_graph(folder)
    (folder / name).unlink()
    with pytest.raises(DamagedError, match=name):
        read_graph(folder)


def test_inconsistent_files(folder: Path) -> None:
    triples = pl.read_parquet(folder / "triples.parquet")
    triples.with_columns(head=pl.lit(12, pl.Int32)).write_parquet(folder / "triples.parquet")
    with pytest.raises(DamagedError, match=r"triples\.parquet: head holds ids outside 0 to 11"):
        read_graph(folder)
    triples.with_columns(split=pl.lit("tset")).write_parquet(folder / "triples.parquet")
    with pytest.raises(DamagedError, match=r"triples\.parquet: split holds other values"):
        read_graph(folder)
    triples.drop("tail").write_parquet(folder / "triples.parquet")
    with pytest.raises(DamagedError, match=r"triples\.parquet: columns"):
        read_graph(folder)
    triples[1:].write_parquet(folder / "triples.parquet")
    with pytest.raises(DamagedError, match="fingerprint"):
        read_graph(folder)
    pl.read_parquet(folder / "entities.parquet").reverse().write_parquet(folder / "entities.parquet")
    with pytest.raises(DamagedError, match=r"entities\.parquet: the names are not sorted"):
        read_graph(folder)
    (folder / "graph.json").write_text(json.dumps({"name": "x"}))
    with pytest.raises(DamagedError, match=r"graph\.json: expected name, notes and fingerprint"):
        read_graph(folder)


def test_a_file_in_the_way(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="busy"):
        write_graph(graph, write(tmp_path / "busy", "x"))
