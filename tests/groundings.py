"""Small random graphs, and what rules say of them by definition."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

Edges = set[tuple[int, int, int]]
"""(from, directed relation, to)"""


@st.composite
def facts(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    n, R = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    triple = st.tuples(st.integers(0, n - 1), st.integers(0, R - 1), st.integers(0, n - 1))
    return np.array(sorted(draw(st.sets(triple, min_size=1, max_size=16)))), n, R


def edges_of(triples: np.ndarray, R: int) -> Edges:
    return {(h, r, t) for h, r, t in triples.tolist()} | {(t, r + R, h) for h, r, t in triples.tolist()}


def pairs_of(body: tuple[int, ...], edges: Edges, n: int) -> set[tuple[int, int]]:
    """All (x, y) that the body links, every variable another entity."""
    return {
        (way[0], way[-1])
        for way in itertools.permutations(range(n), len(body) + 1)
        if all((u, d, v) in edges for u, d, v in zip(way, body, way[1:], strict=False))
    }
