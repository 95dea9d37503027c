from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from eras.evaluation import Selection
from eras.evaluation.selection import expected_reciprocal_ranks


@given(
    rank=st.integers(1, 5000).map(lambda doubled: (doubled + 1) / 2),
    missing=st.floats(1e-6, 3000),
    other=st.floats(1e-6, 3000),
)
def test_the_expectation_over_missing_answers(rank: float, missing: float, other: float) -> None:
    """Against the sum over every number of missing answers; the other rows do not matter."""
    number = np.arange(0, int(missing + 20 * missing**0.5 + 20))
    exact = float((poisson.pmf(number, missing) / np.maximum(1, rank - number)).sum())
    found = expected_reciprocal_ranks(np.array([rank, 3.0]), np.array([missing, other]))
    assert found[0] == pytest.approx(exact, rel=1e-5)
    assert 1 / rank * (1 - 1e-9) <= found[0] <= 1 + 1e-9


def test_a_model_is_judged_with_regard_to_what_is_missing() -> None:
    """Answers 1 … 8 of entity 0 are known in training, 9 is the validation fact; a third of the facts are set aside."""

    class Scores:
        """Entity 0 scores highest, entity 11 lowest, whatever is asked."""

        n_entities = 12

        def scores(self, entity: np.ndarray, relation: np.ndarray, side: np.ndarray) -> torch.Tensor:
            return torch.arange(12.0).flip(0)[:, None].repeat(1, len(entity))

    train = np.array([(0, 0, tail) for tail in range(1, 9)])
    valid = np.array([(0, 0, 9), (10, 1, 11), (11, 1, 10), (10, 1, 9)])
    selection = Selection(train, valid, 12, 2, memory_mb=1)
    assert selection.share == pytest.approx(1 / 3)
    relation, values = selection.by_answer(Scores())
    first = int(np.flatnonzero(relation == 0)[0])  # tail questions come first
    # (0, 0, ?): entity 0 alone stands above entity 9, and nine known answers let us expect three missing ones.
    assert values[first] == pytest.approx(np.exp(-3) / 2 + 1 - np.exp(-3))
    assert selection.mrr(Scores()) == pytest.approx(values.mean())
