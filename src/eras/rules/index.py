"""Who is linked to whom, laid out for compiled code: the training facts as questions, in compressed rows.

A *directed relation* d is a relation r (d = r) or its inverse (d = R + r). A *question* is an entity x with a directed
relation d, and its answers are the entities that d leads to from x. Every fact is an edge of two questions, one at each
end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eras.graph.queries import Queries

LONGEST = 5
"""Atoms in the body of a closed rule, at most."""

Int32s = npt.NDArray[np.int32]


class Index(NamedTuple):
    """Q questions in the order of (directed relation, entity), with A = 2 × facts answers; n entities, 2R relations."""

    entity: Int32s
    """(Q,) The entity of a question."""
    directed: Int32s
    """(Q,) Its directed relation."""
    offsets: Int32s
    """(Q + 1,) Where its answers begin."""
    answers: Int32s
    """(A,) Ascending within a question."""
    back: Int32s
    """(A,) The question at the other end of the edge: from the answer, by the inverse relation."""
    first: Int32s
    """(2R + 1,) The first question of each directed relation."""
    at: Int32s
    """(n + 1,) Where the questions of each entity begin in the next two."""
    question_at: Int32s
    """(Q,) Questions in the order of (entity, directed relation)."""
    directed_at: Int32s
    """(Q,) Their directed relations."""

    @property
    def n_entities(self) -> int:
        return len(self.at) - 1

    @property
    def n_relations(self) -> int:
        return (len(self.first) - 1) // 2


def build_index(triples: npt.NDArray[np.integer], n_entities: int, n_relations: int) -> Index:
    """The index of a set of facts (n, 3)."""
    queries = Queries.of(triples, n_entities, n_relations)
    directed = queries.side * n_relations + queries.relation
    opposite = (directed + n_relations) % (2 * n_relations)
    keys = np.repeat(opposite, queries.counts) * n_entities + queries.answers
    order = np.lexsort((directed, queries.entity))
    every = np.arange(2 * n_relations + 1)
    arrays = (
        queries.entity,
        directed,
        queries.offsets,
        queries.answers,
        np.searchsorted(queries.keys, keys),
        np.searchsorted(directed, every),
        np.searchsorted(queries.entity[order], np.arange(n_entities + 1)),
        order,
        directed[order],
    )
    return Index(*(array.astype(np.int32) for array in arrays))


def inverse(directed: npt.NDArray[np.integer], n_relations: int) -> npt.NDArray[np.integer]:
    """The directed relation that leads back."""
    return np.where(directed < n_relations, directed + n_relations, directed - n_relations)
