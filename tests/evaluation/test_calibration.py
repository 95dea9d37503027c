"""Probabilities that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from eras.errors import DataError
from eras.evaluation.calibration import Calibration, TopOne, quality, reliability, sigmoid
from eras.evaluation.top_one import signs_of, watch
from eras.graph.queries import TAIL, Queries

RNG = np.random.default_rng(0)


def drawn(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of three relations whose true probabilities are sigmoids of their own; the third is rare."""
    relation = RNG.choice(3, size=n, p=[0.5, 0.49, 0.01])
    scores = RNG.normal(size=n) * 2 + 5
    logit = np.array([-10.0, -2.0, -5.0])[relation] + np.array([2.0, 0.5, 1.0])[relation] * scores
    return scores, relation, RNG.random(n) < sigmoid(logit)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_probabilities_of_fresh_triples_are_right(method: str) -> None:
    calibration = Calibration.fit(*drawn(20_000), 4, method)
    scores, relation, truth = drawn(20_000)
    before, after = sigmoid(scores), calibration.probabilities(scores, relation)
    for number in (0, 1):
        own = relation == number
        assert quality(after[own], truth[own])["ece"] < 0.025
    assert quality(after, truth)["brier"] < quality(before, truth)["brier"] - 0.05
    assert ((after > 0) & (after < 1)).all()


def test_parameters_are_recovered_and_small_relations_stay_near_the_others() -> None:
    calibration = Calibration.fit(*drawn(50_000), 4, "platt")
    assert calibration.slope[:2] == pytest.approx([2.0, 0.5], rel=0.1)
    assert calibration.intercept[:2] == pytest.approx([-10.0, -2.0], rel=0.1)
    few = Calibration.fit(np.array([1.0, 2, 3, 4, 2.5]), np.array([0, 0, 0, 0, 1]), np.array([0, 0, 1, 1, 1], bool), 3)
    assert (few.slope > 0).all()
    assert abs(few.slope[1] - few.slope[2]) < 0.2 * few.slope[2], "one label moves a relation a little"
    assert few.logits(np.array([2.5]), np.array([1])) > few.logits(np.array([2.5]), np.array([2]))


def test_higher_scores_are_never_less_probable() -> None:
    scores = np.concatenate([RNG.normal(3, 1, 200), RNG.normal(0, 1, 200), [0.0, 5.0] * 20])
    truth = np.concatenate([np.ones(200, bool), np.zeros(200, bool), [True, False] * 20])
    relation = np.repeat([0, 0, 1], [200, 200, 40])  # the second relation says the opposite of the first
    assert (Calibration.fit(scores, relation, truth, 2).slope > 0).all()


def test_scores_that_say_nothing_are_refused() -> None:
    with pytest.raises(DataError, match="do not tell true triples from false"):
        Calibration.fit(np.array([1.0, 2, 3, 4]), np.zeros(4, int), np.array([True, True, False, False]), 1)


def test_reliability_and_error_by_hand() -> None:
    probability, truth = np.array([0.1, 0.1, 0.9, 0.9, 1.0]), np.array([False, True, True, True, True])
    assert [(b["triples"], b["true"]) for b in reliability(probability, truth)] == [(2, 0.5), (2, 1.0), (1, 1.0)]
    assert quality(probability, truth)["ece"] == pytest.approx((2 * 0.4 + 2 * 0.1 + 0) / 5)
    assert quality(probability, truth)["brier"] == pytest.approx((0.01 + 0.81 + 0.01 + 0.01) / 5)


def test_signs_of_a_list() -> None:
    scores = torch.tensor([[3.0, 1.0], [1.0, 1.0], [-torch.inf, 1.0], [0.0, -torch.inf]])
    signs = signs_of(scores)
    p = np.exp([3.0, 1.0, 0.0]) / np.exp([3.0, 1.0, 0.0]).sum()
    assert signs[0] == pytest.approx([np.log(p[0] / (1 - p[0])), 2.0])
    assert signs[1] == pytest.approx([np.log(0.5), 0.0])
    alone = signs_of(torch.tensor([[2.0, -torch.inf], [-torch.inf, -torch.inf]]))
    assert np.isfinite(alone).all()
    for lead in (15.0, 25.0, 40.0):
        assert signs_of(torch.tensor([[lead], [0.0]]))[0] == pytest.approx([lead, lead])
    assert torch.equal(scores[:, 1], torch.tensor([1.0, 1.0, 1.0, -torch.inf])), "scores stay as they were"


class Fixed:
    """Scores that are given, whoever asks."""

    def __init__(self, scores: list[float]) -> None:
        self.all, self.n_entities = torch.tensor(scores), len(scores)

    def scores(self, entity: np.ndarray, relation: np.ndarray, side: np.ndarray) -> torch.Tensor:
        return self.all[:, None].repeat(1, len(entity))


@pytest.mark.parametrize(("known", "right"), [([], False), ([[0, 0, 3]], True)])
def test_lists_are_watched_without_other_known_answers(known: list[list[int]], right: bool) -> None:
    """(0, 0, ?) is answered by 1 and 2; entity 3 has the highest score and is first unless it is known."""
    asked = Queries.of(np.array([[0, 0, 1], [0, 0, 2]]), 4, 1)
    _, hits = watch(Fixed([0.0, 1.0, 2.0, 3.0]), asked, Queries.of(np.array([*known, [0, 0, 1]]), 4, 1), 1)
    (question,) = asked.find(np.array([0]), np.array([0]), np.array([TAIL]))
    assert hits[question] == right


def test_the_first_of_a_list_is_right_as_often_as_said() -> None:
    signs = RNG.normal(size=(20_000, 2))
    right = RNG.random(20_000) < sigmoid(signs @ [1.5, 0.5] - 1)
    fitted = TopOne.fit(signs[:10_000], right[:10_000])
    assert quality(fitted.probabilities(signs[10_000:]), right[10_000:])["ece"] < 0.02
    flat = np.column_stack([signs[:10_000, 0], np.full(10_000, 50.0)])
    assert quality(TopOne.fit(flat, right[:10_000]).probabilities(flat), right[:10_000])["brier"] < 0.2
    always = TopOne.fit(signs[:50], np.ones(50, bool)).probabilities(signs[:3])
    assert ((always > 0.9) & (always < 1)).all()
