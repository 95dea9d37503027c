from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from eras.errors import UnknownNameError, UsageError
from eras.evaluation import Evaluation, contrast
from eras.evaluation.contrast import FLIPS, chances, holm
from eras.evaluation.protocol import BREAKDOWNS

METRICS = ("mrr", "hits@1", "hits@10")


def ranked(head: np.ndarray, tail: np.ndarray, seed: int = 0) -> Evaluation:
    """Triples with these ranks on their two sides, in random order; their classes do not depend on the seed."""
    n = len(head)
    triples = {"head": np.arange(n), "relation": [f"r{i**2 % 7}" for i in range(n)], "tail": np.arange(n) + 7}
    frames = []
    for side, low in (("head", head), ("tail", tail)):
        classes = {
            "pattern": np.where(np.arange(n) % 3 == 0, "symmetric", "general"),
            "cardinality": "N-N",
            "frequency": np.where((np.arange(n) + (side == "tail")) % 4 < 2, "1-9", "10-99"),
        }
        frames.append(pl.DataFrame({**triples, "side": side, "low": low, "high": low + 1, "candidates": 99, **classes}))
    return Evaluation("test", pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=seed))


def random_ranks(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(1, 30, size=n) // rng.integers(1, 30, size=n) + 1


def test_the_figures_are_those_of_the_breakdown() -> None:
    rng = np.random.default_rng(0)
    runs = {f"run {i}": ranked(random_ranks(rng, 90), random_ranks(rng, 90), seed=i) for i in range(3)}
    for by in BREAKDOWNS:
        whole, *rows = contrast(runs, by)
        assert (whole[by], whole["triples"], whole["ranks"]) == ("all", 90, 180)
        for number, (name, run) in enumerate(runs.items()):
            assert [whole["runs"][number][m] for m in METRICS] == pytest.approx([run.metrics[m] for m in METRICS])
            for row, expected in zip(rows, run.by(by), strict=True):
                found = row["runs"][number]
                assert (row[by], row["ranks"], found["run"]) == (expected[by], expected["ranks"], name)
                assert [found[m] for m in METRICS] == pytest.approx([expected[m] for m in METRICS])
                assert all(found[f"{m}_low"] <= found[m] <= found[f"{m}_high"] for m in METRICS)
        for row in rows:
            of_class = runs["run 0"].table.filter(pl.col(by) == row[by])
            assert row["triples"] == len(of_class.unique(["head", "relation", "tail"]))
            mrr = {run["run"]: run["mrr"] for run in row["runs"]}
            best = max(mrr, key=lambda name: mrr[name])
            assert [run["run"] for run in row["runs"] if run["p"] is None] == [best]
            assert [run["gap"] for run in row["runs"]] == pytest.approx([v - mrr[best] for v in mrr.values()])


def test_intervals_cover_the_truth_though_the_sides_of_a_triple_depend_on_each_other() -> None:
    """Both ranks of a triple are equal here; taken for independent, they would give intervals that cover 80 %."""
    rng = np.random.default_rng(1)
    truth = float((1 / (random_ranks(rng, 1_000_000) + 0.5)).mean())
    covered = 0
    for _ in range(300):
        ranks = random_ranks(rng, 80)
        run = contrast({"run": ranked(ranks, ranks)}, "cardinality")[0]["runs"][0]
        covered += run["mrr_low"] <= truth <= run["mrr_high"]
    assert 0.91 <= covered / 300 <= 0.98


def test_p_is_the_share_of_all_signs_under_which_the_gap_is_as_large() -> None:
    rng = np.random.default_rng(2)
    differences = rng.choice([-1, -1 / 2, -1 / 3, 0, 1 / 3, 1 / 2, 1], size=(10, 6))
    differences[:, 0] = 0
    signs = np.array(list(itertools.product([-1, 1], repeat=10)))
    exact = (np.abs(signs @ differences) >= np.abs(differences.sum(0)) - 1e-9).mean(0)
    assert exact[0] == 1
    assert exact.min() < 0.5
    error = 4 * np.sqrt(exact * (1 - exact) / FLIPS) + 1 / FLIPS
    assert (np.abs(chances(differences, rng) - exact) <= error).all()


def test_p_below_what_random_signs_can_show_is_bounded_from_above() -> None:
    exact = 2.0**-29  # of 30 equal differences: all signs alike, one way or the other
    p = chances(np.full((30, 1), 0.1), np.random.default_rng(0))[0]
    assert exact <= p < 1e-6 < 1 / (1 + FLIPS)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005], 4) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, 0.04, 0.03, 0.005], 6) == pytest.approx([0.05, 0.12, 0.12, 0.03]), "two tests are not shown"
    assert holm([0.9, 0.4], 2) == pytest.approx([0.9, 0.8])
    assert holm([0.9, 0.6], 2) == [1, 1]
    assert holm([], 0) == []


def test_every_pair_of_runs_counts_as_tested_since_the_best_is_known_from_the_ranks_alone() -> None:
    """Were only the comparisons with the best counted, the best of eight equal runs would beat another in a tenth of
    all tables, not in a twentieth."""
    rng = np.random.default_rng(3)
    ranks = random_ranks(rng, 60)
    runs = {"best": ranked(ranks, ranks), "worse": ranked(ranks, ranks + (rng.random(60) < 0.15))}
    two = contrast(runs, "cardinality")
    three = contrast({**runs, "best again": runs["best"]}, "cardinality")
    smallest_of_two, smallest_of_three = (min(row["runs"][1]["p"] for row in rows) for rows in (two, three))
    assert 0 < smallest_of_two < 0.1
    assert smallest_of_three == pytest.approx(3 * smallest_of_two), "three pairs in each class, not one"


def test_a_better_run_is_told_from_an_equal_one() -> None:
    rng = np.random.default_rng(4)
    head, tail = random_ranks(rng, 60), random_ranks(rng, 60)
    runs = {"worse": ranked(2 * head, 2 * tail), "best": ranked(head, tail), "again": ranked(head, tail)}
    rows = contrast(runs, "side")
    for row in rows:
        worse, best, again = row["runs"]
        assert worse["gap"] < 0
        assert worse["p"] < 0.01
        assert best["p"] is None
        assert (again["gap"], again["p"]) == (0, 1)
    assert rows == contrast(runs, "side")
    alone = contrast({"best": runs["best"]}, "side")
    for row, with_others in zip(alone, rows, strict=True):
        (run,), same = row["runs"], with_others["runs"][1]
        ends = [key for key in run if key.endswith(("_low", "_high"))]
        assert ends
        assert [run[k] for k in ends] == pytest.approx([same[k] for k in ends]), "an interval depends on the company"


def test_what_cannot_be_compared_is_refused() -> None:
    ranks = np.arange(1, 9)
    runs = {"a": ranked(ranks, ranks), "b": ranked(ranks[:-1], ranks[:-1])}
    with pytest.raises(UsageError, match="a and b did not rank the same triples"):
        contrast(runs, "side")
    with pytest.raises(UnknownNameError, match="pattern"):
        contrast(runs, "patern")
    with pytest.raises(UsageError, match="nothing to compare"):
        contrast({}, "side")
