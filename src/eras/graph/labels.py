"""Human labels for names that are mere identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from eras.errors import DataError
from eras.graph.streams import line_blocks
from eras.graph.text import split_block
from eras.graph.vocabulary import Vocabulary


def read_labels(path: Path) -> dict[str, str]:
    """A file of `id<TAB>label` lines; the first label of an id counts, and empty labels do not."""
    labels: dict[str, str] = {}
    for start, block in line_blocks(path):
        frame, _ = split_block(path, start, block, "\t", 2)
        for name, label in frame.select(pl.all().str.strip_chars()).iter_rows():
            if label:
                labels.setdefault(name, label)
    if not labels:
        raise DataError(f"{path}: no labels; expected lines of id<TAB>label")
    return labels


def with_labels(vocabulary: Vocabulary, labels: Mapping[str, str]) -> Vocabulary:
    """The vocabulary with those labels whose id it knows, or itself where there are none."""
    table = pl.DataFrame(
        {"name": list(labels), "label": list(labels.values())},
        schema_overrides={"name": pl.String, "label": pl.String},
    )
    joined = vocabulary.names.rename("name").to_frame().join(table, on="name", how="left", maintain_order="left")
    found = joined["label"]
    return vocabulary if found.null_count() == len(found) else replace(vocabulary, labels=found)
