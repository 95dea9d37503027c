"""One file in, blocks of triples out, whatever the format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from eras.errors import DataError
from eras.graph.folders import is_openke
from eras.graph.frames import read_parquet
from eras.graph.layout import Columns
from eras.graph.openke import read_openke
from eras.graph.streams import bare_name
from eras.graph.text import read_text

RDF_SUFFIXES = (".nt", ".ttl")


@dataclass
class Findings:
    """What a reader comes across besides triples."""

    labels: dict[str, str] = field(default_factory=dict)
    foreign_labels: dict[str, str] = field(default_factory=dict)
    """Labels in a language other than English, for names that have no other."""
    literals: int = 0

    def all_labels(self) -> dict[str, str]:
        return self.foreign_labels | self.labels


def read_file(path: Path, columns: Columns | None, findings: Findings) -> Iterator[pl.DataFrame]:
    """Yield frames (head, relation, tail: String), at least one row in all; the name says the format."""
    rows = 0
    for block in _blocks(path, columns, findings):
        rows += len(block)
        yield block
    if not rows:
        raise DataError(f"{path}: the file holds no triples; expected one (head, relation, tail) on each line")


def _blocks(path: Path, columns: Columns | None, findings: Findings) -> Iterator[pl.DataFrame]:
    name = bare_name(path)
    if columns is not None and (name.endswith(RDF_SUFFIXES) or is_openke(path)):
        raise DataError(f"{path}: columns cannot be chosen here; the format fixes head, relation and tail")
    if name.endswith(RDF_SUFFIXES):
        from eras.graph.rdf import read_rdf

        return read_rdf(path, findings)
    if name.endswith(".parquet"):
        return read_parquet(path, columns)
    if is_openke(path):
        return read_openke(path)
    return read_text(path, columns)
