"""What can be said of an entity X with constants: the bodies and heads of rules with constants.

Three kinds, in this order: `b(X, e)` is an edge b to e, the same thing as the question from e by the inverse of b,
whose answers are the entities that have the attribute; `b(X, A)` is any edge b; `b(X, A), c(A, e)` is a path of two
edges to e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eras.compiled import compiled
from eras.rules.index import Index, Int32s, inverse


class Attributes(NamedTuple):
    """K attributes, of which the first Q are the questions of the index; P pairs of entity and attribute."""

    begin: npt.NDArray[np.int64]
    """(n + 1,) Where the attributes of an entity begin."""
    of: Int32s
    """(P,) Ascending within an entity."""
    member_begin: npt.NDArray[np.int64]
    """(K + 1,) Where the entities with an attribute begin."""
    member: Int32s
    """(P,) Ascending within an attribute."""
    first: Int32s
    second: Int32s
    entity: Int32s
    """(K,) Directed relations from X, and the entity they lead to; −1 where there is none."""


def build_attributes(g: Index, with_paths: bool) -> Attributes:
    """The attributes of all entities; paths of two edges only where they are asked for."""
    D = 2 * g.n_relations
    none = np.full(D, -1, np.int32)
    edges = inverse(g.directed, g.n_relations), np.full(len(g.entity), -1), g.entity, g.answers, np.diff(g.offsets)
    parts = [edges, (np.arange(D), none, none, g.entity, np.diff(g.first)), *([_paths(g)] if with_paths else [])]
    first, second, entity, members, size = (
        np.concatenate(column).astype(np.int32) for column in zip(*parts, strict=True)
    )
    attribute = np.repeat(np.arange(len(size), dtype=np.int32), size)
    order = np.argsort(members, kind="stable")
    return Attributes(
        np.searchsorted(members[order], np.arange(g.n_entities + 1)),
        attribute[order],
        np.concatenate([[0], np.cumsum(size, dtype=np.int64)]),
        members,
        first,
        second,
        entity,
    )


def _paths(g: Index) -> tuple[npt.NDArray[np.integer], ...]:
    """The paths X → A → e that at least two entities X share: first, second, e, their members, how many these are.

    They come in ascending order of (first, second, e).
    """
    x, b = (np.repeat(column, np.diff(g.offsets)) for column in (g.entity, g.directed))
    count = np.bincount(x, minlength=g.n_entities)[g.answers]
    order = np.argsort(x, kind="stable")
    start = np.searchsorted(x[order], np.arange(g.n_entities))
    edge = np.repeat(np.arange(len(x)), count)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    then = order[start[g.answers[edge]] + within]
    middle, e = g.answers[edge], g.answers[then]
    proper = (e != x[edge]) & (middle != x[edge]) & (middle != e)
    n, D = g.n_entities, 2 * g.n_relations
    path = (b[edge].astype(np.int64) * D + b[then]) * n + e
    path, member = np.divmod(np.unique(path[proper] * n + x[edge][proper]), n)
    path, size = np.unique(path, return_counts=True)
    member, path, size = member[np.repeat(size > 1, size)], path[size > 1], size[size > 1]
    return path // n // D, path // n % D, path % n, member, size


@compiled
def link_constants(
    a: Attributes, heads: Int32s, least: int, confidence: float, doubt: float, counts: Int32s
) -> npt.NDArray[np.int64]:
    """The rules between attributes that have one of the given heads: rows (head, body, support).

    Their confidence, support / (entities with the body + doubt), is at least the one given. `counts`, (K,), must be
    zero, and is so again afterwards.
    """
    rows, filled = np.empty((1024, 3), np.int64), 0
    touched = np.empty(len(counts), np.int32)
    for head in heads:
        n_touched = 0
        for x in a.member[a.member_begin[head] : a.member_begin[head + 1]]:
            for body in a.of[a.begin[x] : a.begin[x + 1]]:
                if counts[body] == 0:
                    touched[n_touched] = body
                    n_touched += 1
                counts[body] += 1
        for body in touched[:n_touched]:
            support = counts[body]
            counts[body] = 0
            size = a.member_begin[body + 1] - a.member_begin[body]
            if support < least or body == head or support < confidence * (size + doubt):
                continue
            if filled == len(rows):
                rows = np.concatenate((rows, np.empty_like(rows)))
            rows[filled, 0], rows[filled, 1], rows[filled, 2] = head, body, support
            filled += 1
    return rows[:filled]
