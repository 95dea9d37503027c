"""Groupings: which of the N groups each relation belongs to.

As published, relations are clustered by their embeddings after every epoch (hard EM on the sum of squared distances:
k-means). Cluster numbers mean nothing from one epoch to the next, but to a strategy group n is its n-th structure; so
new clusters are given the numbers of the old groups that they share most relations with.

Beyond the paper, a relation can go where it earns most: to the group whose structure ranks it best on validation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eras.graph import TrainingView, relation_patterns
from eras.graph.patterns import PATTERNS
from eras.models import BlockBilinear
from eras.search.space import Candidate

Groups = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]

SUPPORT = 0.3
"""The usual spread of a reciprocal rank: a sum of n of them moves by this · √n without meaning anything."""

HIDDEN = 0.15
"""How far a pattern's statistic may fall short of its bound, because mirror images lie in the test split."""


def cluster(points: Floats, groups: int, rng: np.random.Generator, weights: Floats | None = None) -> Groups:
    """Hard EM: minimise Σ weight · ‖point − centre of its group‖² over (n, d) points; no group is left empty.

    Relations with few triples have hardly moved from their first embedding: a small weight keeps them from pulling
    centres, and they join the nearest one.
    """
    from sklearn.cluster import KMeans

    state = int(rng.integers(2**31))
    labels = KMeans(groups, n_init=4, random_state=state).fit(points, sample_weight=weights).labels_
    return np.asarray(labels, dtype=np.int64)


def by_embedding(model: BlockBilinear, view: TrainingView, groups: int, rng: np.random.Generator) -> Groups:
    """Cluster a model's relations by their embeddings, with those of their reciprocals where they have one."""
    table = model.relations.detach().cpu().numpy()
    points = np.concatenate(np.split(table, len(table) // model.n_relations), axis=1)
    weights = np.bincount(view.train[:, 1], minlength=model.n_relations) + 1.0
    return cluster(points, groups, rng, weights)


def matched(new: Groups, old: Groups, groups: int) -> Groups:
    """`new` with its numbers exchanged so that as many relations as possible keep the group of `old`."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((groups, groups), dtype=np.int64)
    np.add.at(shared, (new, old), 1)
    rows, columns = linear_sum_assignment(-shared)
    rename = np.empty(groups, dtype=np.int64)
    rename[rows] = columns
    return rename[new]


def by_pattern(view: TrainingView, groups: int) -> Groups:
    """One group for each relation pattern; with fewer groups than patterns, the rarest share the last one."""
    facts = np.concatenate([view.train, view.valid])
    patterns = relation_patterns(facts, len(view.relations), slack=HIDDEN)["pattern"].to_list()
    order = sorted(PATTERNS, key=lambda pattern: -patterns.count(pattern))
    return np.array([min(order.index(pattern), groups - 1) for pattern in patterns], dtype=np.int64)


def compact(candidate: Candidate, groups: Groups) -> tuple[Candidate, Groups]:
    """The same function without the groups that hold no relation."""
    used, renumbered = np.unique(groups, return_inverse=True)
    return tuple(candidate[g] for g in used), renumbered


def by_reward(earned: Floats, counts: Groups, current: Groups, penalty: float = SUPPORT) -> Groups:
    """Each relation goes where it earns most, if that is more than chance could have brought.

    earned (N, R): the reciprocal ranks of a relation's validation answers under each group's structure, added up;
    counts (R,): how many answers that are; current (R,): the grouping to leave only for a clear gain. A relation
    without validation triples stays.
    """
    relations = np.arange(earned.shape[1])
    handicap = np.tile(penalty * np.sqrt(counts), (len(earned), 1))
    handicap[current, relations] = 0.0
    best = (earned - handicap).argmax(0)
    clear = earned[best, relations] - earned[current, relations] > handicap[best, relations]
    return np.where(clear, best, current)


def specialists(earned: Floats, counts: Groups, groups: int, penalty: float = SUPPORT) -> tuple[list[int], Groups]:
    """At most `groups` of S structures, and the relations of each: (chosen structures, group of each relation).

    Greedy: the structure that earns most with all relations, then, one by one, the structure to which relations would
    move for the largest gain beyond chance, which grows with the number of structures there are to choose from.
    earned (S, R), counts (R,) as in `by_reward`.
    """
    penalty *= np.sqrt(2 * np.log(max(len(earned), 2)))
    chosen = [int(earned.sum(1).argmax())]
    assigned = np.zeros(earned.shape[1], dtype=np.int64)
    while len(chosen) < groups:
        gain = earned - np.take_along_axis(earned[chosen], assigned[None], 0)
        beyond = np.maximum(gain - penalty * np.sqrt(counts), 0.0).sum(1)
        best = int(beyond.argmax())
        if beyond[best] <= 0:
            break
        chosen.append(best)
        assigned = by_reward(earned[chosen], counts, assigned, penalty)
    return chosen, assigned
