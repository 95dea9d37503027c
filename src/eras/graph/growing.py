"""A graph with one entity more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from eras.errors import UsageError
from eras.graph.build import distinct
from eras.graph.model import Graph, Triples
from eras.graph.vocabulary import Vocabulary


def with_facts_of(graph: Graph, name: str, facts: Sequence[tuple[str, str, str]]) -> tuple[Graph, int]:
    """The graph with a new entity and its facts in the training split, and the entity's id.

    Names stay sorted, so ids from the new one on move up by one.
    """
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"the name of the new entity is {name!r}; expected some text")
    position = int(graph.entities.names.search_sorted(name))
    if position < len(graph.entities) and graph.entities.name(position) == name:
        raise UsageError(f"the graph has an entity {name!r} already: only new ones can be added")
    for fact in facts:
        if len(fact) != 3 or (fact[0] == name) == (fact[2] == name):
            raise UsageError(f"{fact!r} is no fact about {name!r}: expected (head, relation, tail), it as head or tail")
    if not facts:
        raise UsageError(f"no facts about {name!r}: an entity is embedded from what is known about it")
    shift = np.arange(len(graph.entities)) + (np.arange(len(graph.entities)) >= position)
    splits = [_moved(graph.split(split), shift) for split in ("train", "valid", "test")]

    def entity(other: str) -> int:
        return position if other == name else int(shift[graph.entities.id(other)])

    new = np.array([[entity(h), graph.relations.id(r), entity(t)] for h, r, t in facts], dtype=np.int32)
    entities = _inserted(graph.entities, name, position)
    train = distinct(np.concatenate([splits[0], new]))
    return replace(graph, entities=entities, train=train, valid=splits[1], test=splits[2]), position


def _moved(triples: Triples, shift: np.ndarray) -> Triples:
    return np.stack([shift[triples[:, 0]], triples[:, 1], shift[triples[:, 2]]], 1).astype(np.int32)


def _inserted(vocabulary: Vocabulary, name: str, position: int) -> Vocabulary:
    def insert(values: pl.Series, value: str | None) -> pl.Series:
        return pl.concat([values[:position], pl.Series(values.name, [value], dtype=pl.String), values[position:]])

    labels = None if vocabulary.labels is None else insert(vocabulary.labels, None)
    return replace(vocabulary, names=insert(vocabulary.names, name), labels=labels)
