from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eras.errors import DivergedError
from eras.evaluation import answer_losses, breakdown, counting, metrics, rank
from eras.evaluation.ranking import MANY, SLICE, SORTED_AT_ONCE, Counter, _count_by_passes
from eras.graph.queries import HEAD, TAIL, Queries


class Scores:
    """A model whose score of (h, r, t) is a table's entry: of few values, so that ties abound."""

    def __init__(self, table: np.ndarray, dtype: type = np.float32) -> None:
        self.table = table.astype(dtype)
        self.n_entities = table.shape[0]

    def scores(self, entity: Any, relation: Any, side: Any) -> torch.Tensor:
        rows = [
            self.table[e, r, :] if s == TAIL else self.table[:, r, e]
            for e, r, s in zip(entity, relation, side, strict=True)
        ]
        return torch.from_numpy(np.stack(rows, 1))


def brute_force(table: np.ndarray, triple: tuple[int, int, int], side: int, known: set[Any]) -> tuple[int, int, int]:
    h, r, t = triple
    better = equal = 0
    candidates = 1
    for e in range(table.shape[0]):
        other = (h, r, e) if side == TAIL else (e, r, t)
        if other in known:
            continue
        candidates += 1
        better += table[other] > table[triple]
        equal += table[other] == table[triple]
    return 1 + better, 1 + better + equal, candidates


ways = pytest.mark.parametrize("way", [counting.count, _count_by_passes], ids=["compiled", "passes"])


@ways
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 7),
    relations=st.integers(1, 3),
    levels=st.integers(1, 4),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_ranks_equal_a_brute_force_oracle_under_ties(
    way: Counter, seed: int, n: int, relations: int, levels: int, dtype: type
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(levels, size=(n, relations, n)) * rng.choice([-0.0, 1e-40, 1.0])  # −0 is level with 0
    table[rng.random(table.shape) < 0.2] = 0.0
    every = np.argwhere(np.ones_like(table))
    chosen = every[rng.permutation(len(every))[: rng.integers(1, len(every) + 1)]]
    asked = chosen[: max(1, len(chosen) // 2)]
    known = {tuple(map(int, triple)) for triple in chosen}
    scores = Scores(table, dtype)
    with patch("eras.evaluation.ranking._counter", return_value=way):
        result = rank(scores, Queries.of(asked, n, relations), Queries.of(chosen, n, relations), memory_mb=1)
    assert len(result) == 2 * len(asked)
    for row in result.iter_rows(named=True):
        triple = row["head"], row["relation"], row["tail"]
        side = TAIL if row["side"] == "tail" else HEAD
        assert (row["low"], row["high"], row["candidates"]) == brute_force(table, triple, side, known)


def test_blocks_under_the_memory_budget_change_nothing() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    whole_numbers = rng.integers(-99, 99, size=(n, 4))  # whose sums are the same in any order
    entities = torch.from_numpy(whole_numbers).float()

    class Random:
        n_entities = n

        def scores(self, entity: Any, relation: Any, side: Any) -> torch.Tensor:
            return entities @ entities[torch.from_numpy(entity)].t()

    triples = np.stack([rng.integers(20, size=40), np.zeros(40, int), rng.integers(n, size=40)], 1)
    queries = Queries.of(triples, n, 1)
    ranked = rank(Random(), queries, queries, memory_mb=512)
    assert rank(Random(), queries, queries, memory_mb=1).equals(ranked)
    for row in ranked.filter(pl.col("side") == "tail").iter_rows(named=True):
        scores = entities @ entities[row["head"]]
        others = np.setdiff1d(np.arange(n), triples[triples[:, 0] == row["head"], 2])
        assert row["low"] == 1 + (scores[others] > scores[row["tail"]]).sum()


@ways
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_questions_with_any_number_of_answers_are_ranked_alike(dtype: type, way: Counter) -> None:
    rng = np.random.default_rng(0)
    n, answers = 2 * SLICE + 100, [1, 1, 2, 3, MANY, 3 * MANY, *range(MANY + 1, MANY + 2 + SORTED_AT_ONCE)]
    scores = rng.integers(-50, 50, size=(len(answers), n)).astype(dtype)
    scores[scores == 0] *= rng.choice([-1, 1], size=(scores == 0).sum())  # 0 and −0 are level

    class Given:
        n_entities = n

        def scores(self, entity: Any, relation: Any, side: Any) -> torch.Tensor:
            return torch.from_numpy(scores[entity % len(scores)].T.copy())

    tails = [rng.permutation(n)[:count] for count in answers]
    triples = np.array([(h, 0, t) for h, those in enumerate(tails) for t in those])
    every = Queries.of(triples, n, 1)
    with patch("eras.evaluation.ranking._counter", return_value=way):
        ranked = rank(Given(), every, every).filter(pl.col("side") == "tail")
    for head, _, tail, _, low, high, candidates in ranked.iter_rows():
        others = np.delete(scores[head], tails[head])
        own = scores[head, tail]
        assert (low, high) == (1 + (others > own).sum(), 1 + (others >= own).sum())
        assert candidates == 1 + len(others)


def test_scores_that_are_not_finite_are_refused() -> None:
    table = np.zeros((3, 1, 3))
    table[0, 0, 1] = np.nan
    queries = Queries.of(np.array([[0, 0, 1]]), 3, 1)
    with pytest.raises(DivergedError, match="not finite"):
        rank(Scores(table), queries, queries)


def test_metrics_follow_their_definitions() -> None:
    table = pl.DataFrame({"low": [1, 2, 4], "high": [1, 4, 20], "candidates": [11, 11, 21], "side": ["a", "a", "b"]})
    realistic = metrics(table)
    assert realistic["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 12) / 3)
    assert realistic["mr"] == pytest.approx((1 + 3 + 12) / 3)
    assert realistic["amri"] == pytest.approx(1 - (0 + 2 + 11) / (5 + 5 + 10))
    assert (realistic["hits@1"], realistic["hits@3"], realistic["hits@10"]) == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert metrics(table, "optimistic")["hits@3"] == pytest.approx(2 / 3)
    assert metrics(table, "pessimistic")["mr"] == pytest.approx((1 + 4 + 20) / 3)
    assert [(row["side"], row["ranks"]) for row in breakdown(table, "side")] == [("a", 2), ("b", 1)]


def test_the_loss_of_an_answer_is_its_negative_log_probability() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(6, 2, 6))
    triples = np.array([[0, 0, 1], [0, 0, 2], [3, 1, 4]])
    expected = [
        -torch.log_softmax(torch.from_numpy(scores), 0)[answer]
        for h, r, t in triples
        for scores, answer in ((table[h, r, :], t), (table[:, r, t], h))
    ]
    found = answer_losses(Scores(table), Queries.of(triples, 6, 2), memory_mb=1).mean()
    assert found == pytest.approx(float(torch.stack(expected).mean()))
