"""The different questions that a set of triples asks, each with all of its answers.

A triple asks two questions: (h, r, ?) answered by t, and (?, r, t) answered by h. Many triples ask the same one:
FB15k-237's 544,230 training pairs are 149,689 questions. Training computes each once (the loss of all triples that
share a question is a count and a sum), ranking masks its known answers in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

TAIL, HEAD = 0, 1
"""The side that a query asks for."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Rows picked out of `Queries`: answer `entity[i]` belongs to the picked query number `row[i]`."""

    row: Ints
    entity: Ints


@dataclass(frozen=True, eq=False)
class Queries:
    """Q different queries in the order of their keys, with A answers in compressed rows.

    entity, relation, side: (Q,); offsets: (Q + 1,); answers: (A,), ascending within a query.
    """

    n_entities: int
    n_relations: int
    entity: Ints
    relation: Ints
    side: Ints
    offsets: Ints
    answers: Ints

    @classmethod
    def of(cls, triples: npt.NDArray[np.integer], n_entities: int, n_relations: int) -> Queries:
        """Both questions of every triple of `triples` (n, 3); repeated triples count once."""
        h, r, t = triples.astype(np.int64).T
        key = np.concatenate([r * n_entities + h, (n_relations + r) * n_entities + t])
        key, answer = _sorted(key, np.concatenate([t, h]), n_entities, 2 * n_relations * n_entities)
        fresh = _changes(key) | _changes(answer)
        key, answer = key[fresh], answer[fresh]
        starts = np.flatnonzero(_changes(key))
        side_relation, entity = np.divmod(key[starts], n_entities)
        side, relation = np.divmod(side_relation, n_relations)
        return cls(n_entities, n_relations, entity, relation, side, np.append(starts, len(key)), answer)

    def __len__(self) -> int:
        return len(self.entity)

    @cached_property
    def counts(self) -> Ints:
        return np.diff(self.offsets)

    @cached_property
    def keys(self) -> Ints:
        return (self.side * self.n_relations + self.relation) * self.n_entities + self.entity

    def places_of(self, picked: Ints) -> tuple[Ints, Ints]:
        """(row, place): the query number `row[i]` of `picked` has the answer `answers[place[i]]`; −1 picks none."""
        found = picked >= 0
        counts = np.where(found, self.counts[picked], 0)
        row = np.repeat(np.arange(len(picked)), counts)
        first = np.where(found, self.offsets[picked], 0)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, np.repeat(first, counts) + within

    def answers_of(self, picked: Ints) -> Answers:
        """The answers of the queries at positions `picked`, in the order of `picked`; −1 picks none."""
        row, place = self.places_of(picked)
        return Answers(row, self.answers[place])

    def find(self, entity: Ints, relation: Ints, side: Ints) -> Ints:
        """The positions of the given queries here, −1 where a query is not asked."""
        if not len(self):
            return np.full(len(entity), -1)
        wanted = (side * self.n_relations + relation) * self.n_entities + entity
        position = np.minimum(np.searchsorted(self.keys, wanted), len(self) - 1)
        return np.where(self.keys[position] == wanted, position, -1)


def _sorted(key: Ints, answer: Ints, n_entities: int, n_keys: int) -> tuple[Ints, Ints]:
    """Both by key, then by answer."""
    if n_keys * n_entities < 2**63:  # each pair as one number, which sorts many times faster
        return np.divmod(np.sort(key * n_entities + answer), n_entities)
    order = np.lexsort((answer, key))
    return key[order], answer[order]


def _changes(values: Ints) -> npt.NDArray[np.bool_]:
    """Where a value differs from the one before it; the first does."""
    changes = np.ones(len(values), dtype=bool)
    changes[1:] = values[1:] != values[:-1]
    return changes
