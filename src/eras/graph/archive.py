"""A graph on disk, as it is kept inside model folders.

entities.parquet    name, label
relations.parquet   name, label
triples.parquet     split, head, relation, tail (ids: row numbers of the two files above)
graph.json          name, notes, fingerprint; written last, so its presence says that the rest is whole
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eras.errors import DamagedError, OutputError
from eras.files import read_json, replacing, write_json
from eras.graph.model import SPLITS, Graph, Triples
from eras.graph.vocabulary import Vocabulary

TRIPLE_SCHEMA = {"split": pl.String, "head": pl.Int32, "relation": pl.Int32, "tail": pl.Int32}
NAME_SCHEMA = {"name": pl.String, "label": pl.String}


def write_graph(graph: Graph, folder: str | Path) -> None:
    """Write the four files; each appears whole or not at all."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made a folder ({error.strerror or error})") from error
    _write_parquet(_names_frame(graph.entities), folder / "entities.parquet")
    _write_parquet(_names_frame(graph.relations), folder / "relations.parquet")
    _write_parquet(_triples_frame(graph), folder / "triples.parquet")
    facts = {"name": graph.name, "notes": list(graph.notes), "fingerprint": graph.fingerprint}
    write_json(folder / "graph.json", facts)


def read_graph(folder: str | Path) -> Graph:
    """Read what `write_graph` wrote; a missing, cut off or inconsistent file is a DamagedError naming it."""
    folder = Path(folder)
    facts = _read_facts(folder / "graph.json")
    entities = _read_vocabulary("entity", folder / "entities.parquet")
    relations = _read_vocabulary("relation", folder / "relations.parquet")
    splits = _read_triples(folder / "triples.parquet", len(entities), len(relations))
    graph = Graph(facts["name"], entities, relations, *splits, notes=tuple(facts["notes"]))
    if graph.fingerprint != facts["fingerprint"]:
        raise DamagedError(
            f"{folder}: the parquet files do not make up the graph that graph.json describes "
            f"(fingerprint {graph.fingerprint[:12]}…, expected {facts['fingerprint'][:12]}…)"
        )
    return graph


def _names_frame(vocabulary: Vocabulary) -> pl.DataFrame:
    labels = vocabulary.labels if vocabulary.labels is not None else [None] * len(vocabulary)
    return pl.DataFrame({"name": vocabulary.names, "label": labels}, schema_overrides=NAME_SCHEMA)


def _triples_frame(graph: Graph) -> pl.DataFrame:
    parts = [(split, graph.split(split)) for split in SPLITS]
    columns = np.concatenate([triples for _, triples in parts])
    names = pl.concat([pl.repeat(split, len(triples), dtype=pl.String, eager=True) for split, triples in parts])
    return pl.DataFrame({"split": names, **{c: columns[:, i] for i, c in enumerate(list(TRIPLE_SCHEMA)[1:])}})


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    with replacing(path) as temporary:
        frame.write_parquet(temporary)


def _read_facts(path: Path) -> dict[str, Any]:
    facts = read_json(path)
    if not isinstance(facts, dict) or not {"name", "notes", "fingerprint"} <= facts.keys():
        raise DamagedError(f"{path}: expected name, notes and fingerprint")
    return facts


def read_parquet(path: Path, schema: dict[str, Any]) -> pl.DataFrame:
    """A table that `eras` itself wrote, with exactly these columns; anything wrong with it is damage."""
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DamagedError(f"{path}: cannot be read ({error})") from error
    if dict(frame.schema) != schema:
        raise DamagedError(f"{path}: columns {dict(frame.schema)}, expected {schema}")
    return frame


def _read_vocabulary(kind: str, path: Path) -> Vocabulary:
    frame = read_parquet(path, NAME_SCHEMA)
    names, labels = frame["name"], frame["label"]
    if names.null_count() or not names.is_sorted() or names.n_unique() != len(names):
        raise DamagedError(f"{path}: the names are not sorted and distinct")
    return Vocabulary(kind, names, None if labels.null_count() == len(labels) else labels)


def _read_triples(path: Path, n_entities: int, n_relations: int) -> tuple[Triples, Triples, Triples]:
    frame = read_parquet(path, TRIPLE_SCHEMA)
    for column, size in (("head", n_entities), ("relation", n_relations), ("tail", n_entities)):
        ids = frame[column]
        if ids.null_count() or not ids.is_between(0, size - 1).all():
            raise DamagedError(f"{path}: {column} holds ids outside 0 to {size - 1}")
    parts = [frame.filter(pl.col("split") == split).drop("split").to_numpy(order="c") for split in SPLITS]
    if sum(map(len, parts)) != len(frame):
        raise DamagedError(f"{path}: split holds other values than {', '.join(SPLITS)}")
    train, valid, test = parts
    return train, valid, test
