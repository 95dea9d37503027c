"""Steps of machine code, of all kinds, against those of PyTorch's functions, which are tested against autograd."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import eras
from command import eras as command
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.search.estimators.supernet import Supernet
from eras.search.space import Space
from eras.training import kernels
from eras.training.batches import candidate_rng, epoch_order, make_batch, sample_candidates
from eras.training.config import TrainConfig
from eras.training.fused import FusedStep, RowStep, SampledStep, SharedStep
from eras.training.optimiser import Gradient, Optimiser
from eras.training.step import loss_and_gradients
from eras.training.stepper import BlockStepper
from eras.training.workspace import Workspace
from problems import Problem, problems


def single(problem: Problem, size: float = 1.0) -> BlockBilinear:
    model = problem.model
    model.entities, model.relations = (size * table.float() for table in (model.entities, model.relations))
    return model


def assert_same(model: BlockBilinear, queries: Queries, config: TrainConfig, fused: FusedStep, picked: Any) -> None:
    found = fused.gradients(picked, 3, 5)
    assert found is not None
    batch, candidates = make_batch(model, queries, picked), None
    if isinstance(fused, SampledStep):
        wanted, rng = np.append(batch.answer_entity, batch.entity), candidate_rng(config.seed, 3, 5)
        candidates = sample_candidates(torch.from_numpy(wanted), model.n_entities, config.negatives, rng)
    loss, penalty, gradients = loss_and_gradients(model, batch, config, Workspace(99, 1), candidates=candidates)
    assert found[0] == pytest.approx(float(loss), rel=1e-4, abs=1e-5)
    assert found[1] == pytest.approx(float(penalty), rel=1e-4)
    for name, gradient in gradients.items():
        torch.testing.assert_close(
            whole(model, name, found[2][name]), whole(model, name, gradient), rtol=1e-3, atol=1e-4
        )


def whole(model: BlockBilinear, table: str, gradient: Gradient) -> torch.Tensor:
    """A gradient of all rows, and which of them it is of."""
    if gradient.rows is None:
        return gradient.values
    rows = torch.zeros(len(model.tables[table]), 1 + gradient.values.shape[1])
    rows[gradient.rows, 1:], rows[gradient.rows, 0] = gradient.values, 1
    return rows


def steps(model: BlockBilinear, queries: Queries, config: TrainConfig) -> list[FusedStep]:
    """By questions or by rows dealt out to one thread, two and three, and by rows of a sample."""
    found: list[FusedStep] = []
    for threads in (1, 2, 3):
        with patch("torch.get_num_threads", return_value=threads), patch("eras.training.fused._LEAST", 1):
            for kind in (SharedStep, RowStep, SampledStep):
                found.append(kind(model, queries, config, Optimiser(model.tables, config)))
    return found


@pytest.mark.parametrize("regulariser", ["none", "f2", "n3"])
@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 999))
def test_the_same_objective_and_gradients(regulariser: str, problem: Problem, seed: int) -> None:
    """Of batches of any size, one after the other; of some, there are fewer questions than threads."""
    model, queries = single(problem, size=0.4), problem.queries  # no score is too large
    config = TrainConfig(regulariser=regulariser, reg_weight=0.3, negatives=2)
    fused, rng = steps(model, queries, config), np.random.default_rng(seed)
    for _ in range(3):
        picked = rng.permutation(len(queries))[: rng.integers(1, len(queries) + 1)]
        for way in fused:
            assert_same(model, queries, config, way, picked)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [RowStep, SampledStep])
def test_the_same_gradients_of_many_rows(kind: type[RowStep], threads: int) -> None:
    """More than are worked on at a time, in all parts of a step; the last are fewer."""
    triples = np.random.default_rng(0).integers((0, 0, 0), (700, 3, 700), (900, 3))
    model, queries = (
        BlockBilinear(named("complex"), ["a", "b", "c"], 700, 8, reciprocal=True),
        Queries.of(triples, 700, 3),
    )
    model.initialise(0, "normal", 0.5)
    config = TrainConfig(reg_weight=0.1, negatives=650)
    with patch("torch.get_num_threads", return_value=threads):
        fused = kind(model, queries, config, Optimiser(model.tables, config))
    assert_same(model, queries, config, fused, np.arange(200))


KINDS = [({"batch_size": 500}, SharedStep), ({"batch_size": 8000}, RowStep), ({"negatives": 30}, SampledStep)]


@pytest.mark.parametrize(("settings", "kind"), KINDS)
@pytest.mark.parametrize("how", [{}, {"unit_ball": True, "lr": 0.5}, {"optimiser": "adam"}, {"optimiser": "sgd"}])
def test_a_step_moves_the_tables_as_the_optimiser_does(
    how: dict[str, Any], settings: dict[str, Any], kind: type
) -> None:
    view = eras.load_graph("umls").training_view()
    queries = Queries.of(view.train, len(view.entities), len(view.relations))
    config, ends = TrainConfig(**{"lr": 0.03, "lr_decay": 0.9, "dim": 16, "epochs": 4, **settings, **how}), []
    for way in ("fused", "plain"):
        model = BlockBilinear(named("complex"), view.relations.names.to_list(), len(view.entities), 16, reciprocal=True)
        model.initialise(0, "normal", 0.1)
        stepper = BlockStepper(model, queries, config)
        assert type(stepper._fused_in(0)) is kind
        if way == "plain":
            stepper._fused = stepper._fused_sampled = None
        for step in range(2 * stepper.steps):
            stepper.step(*divmod(step, stepper.steps))
        ends.append({**model.tables, **stepper.optimiser.state()})
    for name, end in ends[0].items():
        torch.testing.assert_close(ends[1][name], end, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_taken_together_are_those_taken_one_by_one(threads: int) -> None:
    """To the bit, the last and smaller one included."""
    view, ends = eras.load_graph("umls").training_view(), []
    queries = Queries.of(view.train, len(view.entities), len(view.relations))
    config = TrainConfig(dim=32, batch_size=200)
    for most in (1, 3, 99):
        model = BlockBilinear(named("complex"), view.relations.names.to_list(), len(view.entities), 32, reciprocal=True)
        model.initialise(0, "normal", 0.1)
        with patch("torch.get_num_threads", return_value=threads):
            stepper = BlockStepper(model, queries, config)
        results: list[tuple[float, float]] = []
        while len(results) < stepper.steps:
            results += (run := stepper.run(0, len(results), most))
            assert len(run) == min(most, stepper.steps - len(results) + len(run))
        ends.append((results, model.tables))
    for results, tables in ends[1:]:
        assert results == ends[0][0]
        assert all(torch.equal(table, ends[0][1][name]) for name, table in tables.items())


def test_a_run_ends_where_a_step_cannot_be_taken() -> None:
    """One question for each step; that of the third is bad, and its relation is that of no other."""
    queries, config = Queries.of(np.array([[0, 0, 1], [2, 1, 3], [4, 2, 5]]), 6, 3), TrainConfig(batch_size=1)
    bad = epoch_order(len(queries), config.seed, 0)[2]

    def stepper(**settings: float) -> BlockStepper:
        model = BlockBilinear(named("complex"), ["a", "b", "c"], 6, 4, reciprocal=True)
        model.initialise(0, "normal", 0.1)
        return BlockStepper(model, queries, config.updated(**settings))

    too_large = stepper()
    row = too_large.model.relation_rows(queries.relation, queries.side)[bad]
    too_large.model.relations[row] = 1e5
    assert len(too_large.run(0, 0, 9)) == 2
    (again,) = too_large.run(0, 2, 9)
    assert np.isfinite(again).all()
    assert len(too_large.run(0, 3, 9)) == 3

    no_penalty = stepper(reg_weight=0.1)
    no_penalty.model.entities.zero_()
    no_penalty.model.relations[row] = 1e20
    results = no_penalty.run(0, 0, 9)
    assert [bool(np.isfinite(result).all()) for result in results] == [True, True, False]
    assert np.isfinite(results[2][0])
    assert no_penalty.optimiser.state()["entities.step"] == 2


@given(st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=40))
@settings(deadline=None)
def test_exponentials(scores: list[float]) -> None:
    """Of candidates for themselves, for ten and for a tenth of one; and of the transpose."""
    exact, counts = np.exp(np.array([scores] * 3, np.float64)), np.array([[1], [10], [0.1]])
    powers, total = np.array([scores] * 3, np.float32), np.zeros(len(scores), np.float32)
    kernels.exponentiate(powers, np.log(counts).astype(np.float32).ravel(), total)
    np.testing.assert_allclose(powers, counts * exact, rtol=2.0**-16)
    np.testing.assert_allclose(total, (counts * exact).sum(0), rtol=2.0**-16)
    turned, total = np.array([scores] * 3, np.float32), np.full(3, np.nan, np.float32)
    kernels.exponentiate_rows(turned, total)
    np.testing.assert_allclose(turned, exact, rtol=2.0**-16)
    np.testing.assert_allclose(total, exact.sum(1), rtol=2.0**-16)


def test_exponentials_beyond_the_range_are_noticed() -> None:
    powers, total = np.array([[1e4, -1e4, np.nan, np.inf]], np.float32), np.zeros(4, np.float32)
    kernels.exponentiate(powers, np.zeros(1, np.float32), total)
    assert total[0] > 2.0**120
    assert 0 < total[1] < 2.0**-120
    assert np.isnan(total[2])
    assert total[3] > 2.0**120


def test_other_structures_come_into_play() -> None:
    """A supernet mixes structures in a batch, and has others in each step."""
    view, space, rng = eras.load_graph("umls").training_view(), Space(4, 3), np.random.default_rng(0)
    groups = np.arange(len(view.relations)) % 3
    net = Supernet(view, groups, [space.sample(rng)], 16, reciprocal=True)
    net.initialise(0, "normal", 0.5)
    queries = Queries.of(view.train, len(view.entities), len(view.relations))
    config = TrainConfig(reg_weight=0.3, negatives=50)
    fused = steps(net, queries, config)
    for functions in (1, 5, 9):
        net.play([space.sample(rng) for _ in range(functions)])
        for way in fused:
            assert_same(net, queries, config, way, rng.permutation(len(queries))[:20])


@settings(max_examples=20, deadline=None)
@given(problem=problems())
def test_scores_that_are_too_large_are_left_to_other_steps(problem: Problem) -> None:
    model, picked = single(problem, size=60.0), np.arange(len(problem.queries))
    for negatives in (0, 2):
        config = TrainConfig(regulariser="none", negatives=negatives)
        stepper = BlockStepper(model, problem.queries, config)
        ways = [way for way in steps(model, problem.queries, config) if isinstance(way, SampledStep) == bool(negatives)]
        stepper._fused = stepper._fused_sampled = None
        expected, _, _ = stepper.gradients(picked, 0, 0)
        for way in ways:
            stepper._fused = stepper._fused_sampled = way
            loss, _, gradients = stepper.gradients(picked, 0, 0)
            assert loss == pytest.approx(expected, rel=1e-4, abs=1e-4)
            assert all(bool(gradient.values.isfinite().all()) for gradient in gradients.values())


EACH = [({}, 1 << 20, SharedStep), ({}, 0, RowStep), ({"negatives": 1}, 0, SampledStep)]


@pytest.mark.parametrize(("settings", "few", "kind"), EACH)
def test_what_is_not_finite_is_noticed_and_moves_nothing(settings: dict[str, int], few: int, kind: type) -> None:
    """First a score, then a penalty alone: all scores are 0 there, as those of relations are."""
    queries = Queries.of(np.array([[0, 0, 1], [0, 0, 2]]), 9, 1)
    for value in (torch.nan, 1e20):
        model = BlockBilinear(named("complex"), ["a"], 9, 4, reciprocal=True)
        model.entities[1] = value
        with patch("eras.training.fused._FEW", few):
            stepper = BlockStepper(model, queries, TrainConfig(reg_weight=0.1, **settings))
        assert type(stepper._fused_in(0)) is kind
        before, (loss, penalty) = model.entities.clone(), stepper.step(0, 0)
        assert np.isfinite(loss) == (value == 1e20)
        assert not np.isfinite(loss + penalty)
        torch.testing.assert_close(model.entities, before, rtol=0, atol=0, equal_nan=True)
        assert not stepper.optimiser.state()["entities.step"]


@pytest.mark.parametrize(
    "other",
    [
        {"regulariser": "dura"},
        {"dropout": 0.1},
        {"relation_weight": 0.1},
        {"precision": "bfloat16"},
    ],
)
def test_what_is_left_to_other_steps(other: dict[str, Any]) -> None:
    model = BlockBilinear(named("complex"), ["a"], 3, 4, reciprocal=True)
    queries = Queries.of(np.array([[0, 0, 1]]), 3, 1)
    config = TrainConfig(negatives=1)
    for epoch in (0, config.epochs):
        assert BlockStepper(model, queries, config)._fused_in(epoch) is not None
        assert BlockStepper(model, queries, config.updated(**other))._fused_in(epoch) is None


@pytest.mark.parametrize(("batch_size", "kind"), [(1 << 18, SharedStep), (1 << 19, RowStep)])
def test_large_batches_are_dealt_out_by_rows(batch_size: int, kind: type) -> None:
    model = BlockBilinear(named("complex"), ["a"], 3, 4, reciprocal=True)
    queries, config = Queries.of(np.array([[0, 0, 1]]), 3, 1), TrainConfig(batch_size=batch_size)
    assert type(BlockStepper(model, queries, config)._fused) is kind


def test_without_kernels_all_is_left_to_pytorch() -> None:
    model = BlockBilinear(named("complex"), ["a"], 3, 4, reciprocal=True)
    with patch("eras.training.fused.TILES_FOUND", False):
        stepper = BlockStepper(model, Queries.of(np.array([[0, 0, 1]]), 3, 1), TrainConfig(negatives=1))
    assert stepper._fused is stepper._fused_sampled is None


def test_a_small_graph_keeps_to_the_budget_too() -> None:
    model, queries = (
        BlockBilinear(named("complex"), ["a"], 2000, 4, reciprocal=True),
        Queries.of(np.array([[0, 0, 1]]), 2000, 1),
    )
    for memory_mb, kind in ((9, SharedStep), (7, RowStep)):
        assert type(BlockStepper(model, queries, TrainConfig(batch_size=512, memory_mb=memory_mb))._fused) is kind


@pytest.mark.parametrize("negatives", [0, 3000])
def test_a_batch_that_would_not_fit_into_memory_is_left_to_pytorch(negatives: int) -> None:
    triples = np.stack([np.arange(4000), np.zeros(4000, int), np.arange(4000)[::-1]], 1)
    model, queries = BlockBilinear(named("complex"), ["a"], 4000, 4, reciprocal=True), Queries.of(triples, 4000, 1)
    for memory_mb, fits in ((99, True), (50, False)):
        config = TrainConfig(batch_size=4000, memory_mb=memory_mb, negatives=negatives)
        stepper = BlockStepper(model, queries, config)
        fused = stepper._fused_in(0)
        assert fused is not None
        assert (fused.gradients(np.arange(4000), 0, 0) is not None) == fits
        assert (len(fused.learn(np.arange(4000), 0, 0)) == 1) == fits
        assert len(stepper.run(0, 0, 1)) == 1


def test_training_does_without_numba(tmp_path: Path) -> None:
    """The same model, but for rounding."""
    (tmp_path / "numba.py").write_text("raise ImportError('this version of NumPy is too new')")
    quick = ("--dim", "16", "--epochs", "2", "--batch-size", "512")
    command("train", "umls", "--out", tmp_path / "fused", *quick)
    command("train", "umls", "--out", tmp_path / "plain", *quick, PYTHONPATH=str(tmp_path))
    fused, plain = (eras.Model.load(tmp_path / way).scorer.tables for way in ("fused", "plain"))
    for name, table in fused.items():
        assert not torch.equal(plain[name], table)
        torch.testing.assert_close(plain[name], table, rtol=1e-2, atol=1e-3)
