from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eras.search.grouping import by_pattern, cluster, matched


@given(st.integers(1, 8), st.integers(0, 2**32))
def test_matching_undoes_any_exchange_of_labels(groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    old = rng.integers(groups, size=30)
    exchanged = rng.permutation(groups)[old]
    assert np.array_equal(matched(exchanged, old, groups), old)


def test_matching_keeps_most_relations_when_some_move() -> None:
    old = np.repeat([0, 1, 2], 10)
    new = np.array([2, 0, 1])[old]
    new[:3] = 0
    assert (matched(new, old, 3) == old).sum() == 27


def test_clusters_are_found_and_none_is_empty() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=60)
    points = np.eye(4)[truth] * 5 + rng.normal(size=(60, 4))
    found = cluster(points, 4, rng)
    assert np.array_equal(matched(found, truth, 4), truth)
    assert set(cluster(np.zeros((10, 2)) + rng.normal(size=(10, 2)), 3, rng)) == {0, 1, 2}


def test_patterns_share_the_last_group_when_groups_are_few() -> None:
    patterns = ["general", "symmetric", "general", "inverse", "anti-symmetric", "symmetric", "general"]
    assert by_pattern(patterns, 4)[0] == 0
    assert len(set(by_pattern(patterns, 4))) == 4
    assert set(by_pattern(patterns, 2)) == {0, 1}
