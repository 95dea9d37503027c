"""`load_graph`: from a path, a name or frames to a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from eras.errors import DataError, UsageError
from eras.graph.build import build_graph
from eras.graph.download import Progress
from eras.graph.folders import SPLIT_WORDS, split_files
from eras.graph.frames import is_frame, read_frame
from eras.graph.labels import read_labels, with_labels
from eras.graph.layout import Columns
from eras.graph.model import Graph
from eras.graph.readers import Findings, read_file
from eras.graph.sources import locate
from eras.graph.splits import check_holdout
from eras.graph.streams import bare_name

Source = str | Path | Any
"""A path, a name, a polars or pandas frame, or a mapping from split to frame."""

Blocks = dict[str, Iterator[pl.DataFrame]]


def load_graph(
    source: Source,
    *,
    columns: Columns | None = None,
    labels: str | Path | None = None,
    seed: int = 0,
    holdout: tuple[float, float] = (0.1, 0.1),
    name: str | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Read a graph.

    Args:
        source: a file or folder, the name of a data set (`"umls"`, `"FB15k-237"`; see `eras data list`), a
            polars or pandas frame, or a mapping such as `{"train": frame, "valid": frame}`. A name is looked
            for as a path, under `ERAS_DATA`, in the cache and in the package, and downloaded only then.
        columns: three column names or three 1-based numbers, in the order head, relation, tail.
        labels: a file of `id<TAB>label` lines.
        seed: decides which triples are held out where the source does not say.
        holdout: fractions of the triples to hold out for (validation, test).
        name: what to call the graph; otherwise it is called after its source.
        progress: told about downloads, see `eras.graph.download.Progress`.
    """
    check_holdout(holdout)
    findings = Findings()
    found_name, where, blocks = _open(source, columns, findings, progress)
    given_labels = {} if labels is None else read_labels(Path(labels))
    graph = build_graph(name or found_name, where, blocks, seed, holdout)
    graph = _label(graph, {**findings.all_labels(), **given_labels})
    notes = list(graph.notes)
    if findings.literals:
        notes.append(f"{findings.literals:,} triples with a literal as tail left out: literals have no embedding")
    if labels is not None:
        notes.append(_label_note(graph, given_labels, labels))
    return replace(graph, notes=tuple(notes))


def _open(
    source: Source, columns: Columns | None, findings: Findings, progress: Progress | None
) -> tuple[str, str, Blocks]:
    """The name of the graph, how messages call its source, and a reader for each split."""
    if is_frame(source):
        return "frame", "frame", {"train": read_frame(source, columns)}
    if isinstance(source, Mapping):
        return "frames", "frames", _open_mapping(source, columns)
    if not isinstance(source, str | Path):
        raise UsageError(
            f"cannot read a graph from a {type(source).__name__}: expected a path, the name of a data set, "
            "a polars or pandas frame, or a mapping from train, valid and test to frames"
        )
    path, name = locate(source, progress)
    files = split_files(path) if path.is_dir() else {"train": path}
    blocks = {split: read_file(file, columns, findings) for split, file in files.items()}
    return name or bare_name(path).partition(".")[0], str(path), blocks


def _open_mapping(frames: Mapping[Any, Any], columns: Columns | None) -> Blocks:
    blocks: Blocks = {}
    for key, frame in frames.items():
        split = SPLIT_WORDS.get(str(key).lower())
        if split is None or split in blocks or not is_frame(frame):
            raise DataError(
                f"frames: cannot use {key!r}: {type(frame).__name__}; expected frames for train, valid, test"
            )
        blocks[split] = read_frame(frame, columns, where=f"frame {key!r}")
    if "train" not in blocks:
        raise DataError(f"frames: no 'train' among {', '.join(map(repr, frames)) or 'no keys'}")
    return blocks


def _label(graph: Graph, labels: Mapping[str, str]) -> Graph:
    if not labels:
        return graph
    return replace(
        graph,
        entities=with_labels(graph.entities, labels),
        relations=with_labels(graph.relations, labels),
    )


def _label_note(graph: Graph, labels: Mapping[str, str], path: str | Path) -> str:
    """Count what of the labels file was of use; a file of which nothing is belongs to another graph."""
    known = set(graph.entities.names.to_list()) | set(graph.relations.names.to_list())
    used = sum(name in known for name in labels)
    if not used:
        raise DataError(
            f"{path}: none of its {len(labels):,} ids occurs in {graph.name}; it holds ids such as "
            f"{next(iter(labels))!r}, the graph names such as {graph.entities.name(0)!r}"
        )
    ignored = len(labels) - used
    return f"{used:,} labels read from {Path(path).name}" + (f", {ignored:,} unknown ids ignored" if ignored else "")
