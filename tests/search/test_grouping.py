from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from eras.graph.planted import Plan, plant
from eras.search.grouping import by_pattern, by_reward, cluster, matched, specialists


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


def test_patterns_are_found_though_mirror_images_are_held_out_and_share_the_last_group_when_groups_are_few() -> None:
    planted = plant(Plan(), seed=1, holdout=(0.1, 0.15))
    view = planted.graph.training_view()
    truth = [planted.patterns[name] for name in view.relations.names]
    assert adjusted_rand_score(truth, by_pattern(view, 4)) > 0.9
    assert set(by_pattern(view, 2)) == {0, 1}


def test_a_relation_goes_where_it_earns_most_if_that_is_more_than_chance() -> None:
    counts = np.array([100, 100, 4, 0])
    current = np.array([0, 0, 0, 1])
    earned = np.array([[50.0, 50.0, 2.0, 0.0], [60.0, 52.0, 2.5, 0.0]])
    assert by_reward(earned, counts, current).tolist() == [1, 0, 0, 1]
    assert by_reward(earned, counts, current, penalty=0.0).tolist() == [1, 1, 1, 1]


def test_specialists_are_added_only_for_relations_that_gain() -> None:
    counts = np.array([100, 100, 100])
    earned = np.array([[60.0, 60.0, 20.0], [20.0, 20.0, 70.0], [61.0, 58.0, 20.0]])
    chosen, groups = specialists(earned, counts, 3)
    assert chosen == [0, 1], "the third structure gains nothing beyond chance"
    assert groups.tolist() == [0, 0, 1]
