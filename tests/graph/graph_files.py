"""Triples and files of triples for tests."""

from __future__ import annotations

import gzip
from pathlib import Path

import zstandard
from hypothesis import strategies as st

from eras.graph import Graph

Triple = tuple[str, str, str]


def facts(graph: Graph, split: str | None = None) -> set[Triple]:
    """The graph's triples by name, of one split or of all."""
    rows = [row for name in ([split] if split else ["train", "valid", "test"]) for row in graph.split(name)]
    return {(graph.entities.name(h), graph.relations.name(r), graph.entities.name(t)) for h, r, t in rows}


def write(path: Path, content: str | bytes) -> Path:
    """Write content, compressed as the suffix says."""
    data = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = zstandard.compress(data[: len(data) // 2]) + zstandard.compress(data[len(data) // 2 :])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def lines(triples: list[Triple], delimiter: str = "\t", end: str = "\n") -> str:
    return "".join(delimiter.join(triple) + end for triple in triples)


RING: list[Triple] = [
    (f"e{i}", relation, f"e{(i + step) % 12}") for step, relation in enumerate("pqr", 1) for i in range(12)
]
"""36 triples over 12 entities and 3 relations, in which every name occurs often enough to hold some out."""

SPLIT_RING = {"train": RING[:30], "valid": RING[30:33], "test": RING[33:]}


def ring_graphs(min_size: int = 30) -> st.SearchStrategy[list[Triple]]:
    """Random sets of triples over a few names."""
    entity = st.integers(0, 14).map("e{}".format)
    relation = st.integers(0, 3).map("r{}".format)
    return st.lists(st.tuples(entity, relation, entity), min_size=min_size, max_size=120, unique=True)
