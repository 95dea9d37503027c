"""Steps of machine code against those of PyTorch's functions, which are tested against autograd."""

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
from eras.training.batches import make_batch
from eras.training.config import TrainConfig
from eras.training.fused import FusedStep
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
    found = fused.gradients(picked)
    assert found is not None
    batch = make_batch(model, queries, picked)
    loss, penalty, gradients = loss_and_gradients(model, batch, config, Workspace(99, 1))
    assert found[0] == pytest.approx(float(loss), rel=1e-4, abs=1e-5)
    assert found[1] == pytest.approx(float(penalty), rel=1e-4)
    for name, gradient in gradients.items():
        torch.testing.assert_close(found[2][name].values, gradient.values, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("regulariser", ["none", "f2", "n3"])
@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 999), few=st.sampled_from([0, 1 << 18]))
def test_the_same_objective_and_gradients(regulariser: str, problem: Problem, seed: int, few: int) -> None:
    """Of batches of any size, one after the other, with exponentials by one thread or by all."""
    model, queries = single(problem, size=0.4), problem.queries  # no score is too large
    config = TrainConfig(regulariser=regulariser, reg_weight=0.3)
    fused, rng = FusedStep(model, queries, config), np.random.default_rng(seed)
    for _ in range(3):
        picked = rng.permutation(len(queries))[: rng.integers(1, len(queries) + 1)]
        with patch("eras.training.fused._FEW", few):
            assert_same(model, queries, config, fused, picked)


@given(st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=40))
@settings(deadline=None)
def test_exponentials(scores: list[float]) -> None:
    exact = np.exp(np.array([scores] * 3, np.float64))
    powers, total = np.array([scores] * 3, np.float32), np.empty(len(scores), np.float32)
    kernels.exponentiate(powers, total)
    np.testing.assert_allclose(powers, exact, rtol=2.0**-16)
    np.testing.assert_allclose(total, exact.sum(0), rtol=2.0**-16)


def test_exponentials_beyond_the_range_are_noticed() -> None:
    powers, total = np.array([[1e4, -1e4, np.nan, np.inf]], np.float32), np.empty(4, np.float32)
    kernels.exponentiate(powers, total)
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
    config = TrainConfig(reg_weight=0.3)
    fused = FusedStep(net, queries, config)
    for functions in (1, 5, 9):
        net.play([space.sample(rng) for _ in range(functions)])
        assert_same(net, queries, config, fused, rng.permutation(len(queries))[:100])


@settings(max_examples=20, deadline=None)
@given(problem=problems())
def test_scores_that_are_too_large_are_left_to_other_steps(problem: Problem) -> None:
    model, config = single(problem, size=60.0), TrainConfig(regulariser="none")
    picked = np.arange(len(problem.queries))
    expected, _, _ = loss_and_gradients(model, make_batch(model, problem.queries, picked), config, Workspace(99, 1))
    loss, _, gradients = BlockStepper(model, problem.queries, config).gradients(picked, 0, 0)
    assert loss == pytest.approx(float(expected), rel=1e-4, abs=1e-4)
    assert all(bool(gradient.values.isfinite().all()) for gradient in gradients.values())


def test_not_finite_is_noticed() -> None:
    model = BlockBilinear(named("complex"), ["a"], 3, 4, reciprocal=True)
    model.entities[1] = torch.nan
    queries = Queries.of(np.array([[0, 0, 1], [0, 0, 2]]), 3, 1)
    stepper = BlockStepper(model, queries, TrainConfig())
    assert not np.isfinite(stepper.step(0, 0)[0])
    assert torch.equal(model.entities[0], torch.zeros(4))


@pytest.mark.parametrize(
    "other",
    [
        {"regulariser": "dura"},
        {"dropout": 0.1},
        {"relation_weight": 0.1},
        {"precision": "bfloat16"},
        {"batch_size": 1 << 22},
    ],
)
def test_what_is_left_to_other_steps(other: dict[str, Any]) -> None:
    model = BlockBilinear(named("complex"), ["a"], 3, 4, reciprocal=True)
    queries = Queries.of(np.array([[0, 0, 1]]), 3, 1)
    assert BlockStepper(model, queries, TrainConfig())._fused is not None
    assert BlockStepper(model, queries, TrainConfig(**other))._fused is None


def test_adagrad_moves_alike() -> None:
    config, generator = TrainConfig(lr=0.3), torch.Generator().manual_seed(0)
    tables = [{"x": torch.ones(5, 7)} for _ in range(2)]
    by_torch, compiled = Optimiser(tables[0], config), Optimiser(tables[1], config, compiled=True)
    for epoch in range(4):
        gradient = {"x": Gradient(torch.randn(5, 7, generator=generator))}
        by_torch.step(epoch, gradient)
        compiled.step(epoch, gradient)
    torch.testing.assert_close(tables[1]["x"], tables[0]["x"])
    for key, value in by_torch.state().items():
        torch.testing.assert_close(compiled.state()[key], value)


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
