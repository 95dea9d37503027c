"""Thresholds against a search of all cuts; measures on known cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from eras.evaluation.classification import MEASURES, Thresholds, judge, judge_relations

LABELLED = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-4, 4).map(lambda i: i / 2), st.booleans()), min_size=1, max_size=40
)


def right_answers(scores: np.ndarray, truth: np.ndarray, threshold: float) -> int:
    return int(((scores >= threshold) == truth).sum())


def best_of_all_cuts(scores: np.ndarray, truth: np.ndarray) -> int:
    """Below every score, between any two, above all of them."""
    values = np.unique(scores)
    cuts = [values[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(values)), values[-1] + 1]
    return max(right_answers(scores, truth, cut) for cut in cuts)


@given(LABELLED)
def test_thresholds_are_right_as_often_as_any_can_be(rows: list[tuple[int, float, bool]]) -> None:
    relation, scores, truth = (np.array(column) for column in zip(*rows, strict=True))
    thresholds = Thresholds.fit(scores, relation, truth, 5)
    assert right_answers(scores, truth, thresholds.pooled) == best_of_all_cuts(scores, truth)
    for number in range(5):
        own = relation == number
        if truth[own].any() and not truth[own].all():
            assert thresholds.own[number]
            found = right_answers(scores[own], truth[own], thresholds.of[number])
            assert found == best_of_all_cuts(scores[own], truth[own])
        else:
            assert not thresholds.own[number]
            assert thresholds.of[number] == thresholds.pooled


def test_of_equal_cuts_the_one_in_the_widest_gap_is_taken() -> None:
    scores, truth = np.array([0.0, 1.0, 5.0, 6.0]), np.array([False, False, True, True])
    assert Thresholds.fit(scores, np.zeros(4, int), truth, 1).of[0] == 3.0


def test_neighbouring_floats_are_told_apart() -> None:
    low = np.float32(1.0)
    scores = np.array([low, np.nextafter(low, np.float32(2))], dtype=np.float32)
    truth = np.array([False, True])
    thresholds = Thresholds.fit(scores, np.zeros(2, int), truth, 1)
    assert (thresholds.above(scores, np.zeros(2, int)) >= 0).tolist() == [False, True]


@given(LABELLED)
def test_measures_are_those_of_scikit_learn(rows: list[tuple[int, float, bool]]) -> None:
    _, scores, truth = (np.array(column) for column in zip(*rows, strict=True))
    found = judge(Thresholds(np.zeros(1), np.ones(1, bool), 0.0), scores, np.zeros(len(rows), int), truth)
    if truth.all() or not truth.any():
        assert [found[m] for m in MEASURES[1:]] == [None] * 4
        return
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, scores >= 0))
    assert found["f1"] == pytest.approx(metrics.f1_score(truth, scores >= 0))
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found["average_precision"] == pytest.approx(metrics.average_precision_score(truth, scores))


def test_measures() -> None:
    relation = np.array([0, 0, 0, 0, 1, 1])
    scores = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 20.0])
    truth = np.array([False, True, False, True, False, True])
    thresholds = Thresholds(np.array([2.5, 15.0]), np.array([True, True]), 0.0)
    overall = judge(thresholds, scores, relation, truth)
    assert overall["accuracy"] == overall["balanced_accuracy"] == 4 / 6
    assert overall["f1"] == pytest.approx(2 / 3)
    # Distances from the thresholds: false −1.5, 0.5, −5; true −0.5, 1.5, 5. Eight of nine pairs are in order.
    assert overall["roc_auc"] == pytest.approx(8 / 9)
    rows = judge_relations(thresholds, scores, relation, truth)
    assert [(row["relation"], row["triples"], row["accuracy"]) for row in rows] == [(0, 4, 0.5), (1, 2, 1.0)]
    assert judge(thresholds, scores[1:2], relation[1:2], truth[1:2])["roc_auc"] is None
