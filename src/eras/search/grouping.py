"""Groupings: which of the N groups each relation belongs to.

As published, relations are clustered by their embeddings after every epoch (hard EM on the sum of squared distances:
k-means). Cluster numbers mean nothing from one epoch to the next, but to the policy group n is its n-th structure; so
new clusters are given the numbers of the old groups that they share most relations with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eras.graph.patterns import PATTERNS

Groups = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]


def cluster(points: Floats, groups: int, rng: np.random.Generator, weights: Floats | None = None) -> Groups:
    """Hard EM: minimise Σ weight · ‖point − centre of its group‖² over (n, d) points; no group is left empty.

    Relations with few triples have hardly moved from their first embedding: a small weight keeps them from pulling
    centres, and they join the nearest one.
    """
    from sklearn.cluster import KMeans

    state = int(rng.integers(2**31))
    labels = KMeans(groups, n_init=4, random_state=state).fit(points, sample_weight=weights).labels_
    return np.asarray(labels, dtype=np.int64)


def matched(new: Groups, old: Groups, groups: int) -> Groups:
    """`new` with its numbers exchanged so that as many relations as possible keep the group of `old`."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((groups, groups), dtype=np.int64)
    np.add.at(shared, (new, old), 1)
    rows, columns = linear_sum_assignment(-shared)
    rename = np.empty(groups, dtype=np.int64)
    rename[rows] = columns
    return rename[new]


def by_pattern(patterns: Sequence[str], groups: int) -> Groups:
    """One group for each relation pattern; with fewer groups than patterns, the rarest share the last one."""
    counts = {pattern: patterns.count(pattern) for pattern in PATTERNS}
    order = sorted(PATTERNS, key=lambda pattern: -counts[pattern])
    return np.array([min(order.index(pattern), groups - 1) for pattern in patterns], dtype=np.int64)
