"""Losses against their plain definition, and hand-written gradients against autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear
from eras.training.batches import Batch, Candidates, make_batch, sample_candidates
from eras.training.config import TrainConfig
from eras.training.optimiser import Gradient
from eras.training.regularisers import couplings
from eras.training.step import loss_and_gradients
from eras.training.workspace import Workspace
from problems import Problem, plain_score, problems

Gradients = dict[str, Gradient]


def compute(problem: Problem, config: TrainConfig, queries_at_once: int = 99) -> tuple[float, float, Gradients]:
    model = problem.model
    batch = double(make_batch(model, problem.queries, np.arange(len(problem.queries))))
    loss, penalty, gradients = loss_and_gradients(model, batch, config, Workspace(queries_at_once, 1))
    return float(loss), float(penalty), gradients


def double(batch: Batch) -> Batch:
    return Batch(**{**batch.__dict__, "counts": batch.counts.double()})


def plain_objective(problem: Problem, config: TrainConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """The same objective, triple by triple and with autograd: nothing merged, nothing blocked."""
    model = problem.model
    loss = penalty = model.entities.new_zeros(())
    n = 2 * len(problem.triples)
    for h, r, t in problem.triples:
        for side in (TAIL, HEAD):
            candidates = [
                plain_score(model, *((h, r, e) if side == TAIL else (e, r, t)), side) for e in range(model.n_entities)
            ]
            loss = loss - torch.stack(candidates).log_softmax(0)[t if side == TAIL else h] / n
            if config.relation_weight:
                relations = [plain_score(model, h, k, t, side) for k in range(model.n_relations)]
                loss = loss - config.relation_weight * torch.stack(relations).log_softmax(0)[r] / n
            penalty = penalty + config.reg_weight * plain_penalty(model, h, r, t, side, config.regulariser) / n
    return loss, penalty


def plain_penalty(model: BlockBilinear, h: int, r: int, t: int, side: int, name: str) -> torch.Tensor:
    row = r + model.n_relations * side if model.reciprocal else r
    asked, answer = (h, t) if side == TAIL else (t, h)
    x, y, z = model.entities[asked], model.relations[row], model.entities[answer]
    if name == "f2":
        return (x**2).sum() + (y**2).sum() + (z**2).sum()
    structure = model.function.structures[model.groups[r]]
    if name == "n3":
        plan = model.plans[model.groups[r] + side * model.n_groups]
        entity_sets, relation_sets = couplings(plan)

        def cubes(v: torch.Tensor, sets: Any) -> torch.Tensor:
            parts = v.reshape(structure.blocks, -1)
            return sum(((parts[list(s)] ** 2).sum(0) ** 1.5).sum() for s in sets)

        return cubes(x, entity_sets) + cubes(y, relation_sets) + cubes(z, entity_sets)
    if name == "dura":
        cells = np.array((structure if side == TAIL else structure.T).cells)

        def push(v: torch.Tensor, matrix: np.ndarray) -> torch.Tensor:
            parts, r_parts = v.reshape(structure.blocks, -1), y.reshape(structure.blocks, -1)
            out = []
            for j in range(structure.blocks):
                terms = [np.sign(c) * parts[i] * r_parts[abs(c) - 1] for i, c in enumerate(matrix[:, j]) if c]
                out.append(sum(terms) if terms else torch.zeros_like(parts[0]))
            return torch.cat(out)

        q, p = push(x, cells), push(z, cells.T)
        return 0.5 * ((x**2).sum() + (z**2).sum()) + 1.5 * ((q**2).sum() + (p**2).sum())
    return torch.zeros(())


@pytest.mark.parametrize("regulariser", ["none", "f2", "n3", "dura"])
@settings(max_examples=25)
@given(
    problem=problems(),
    relation_weight=st.sampled_from([0.0, 0.7]),
    queries_at_once=st.sampled_from([1, 3, 99]),
    size=st.sampled_from([1.0, 40.0]),
)
def test_objective_and_gradients(
    regulariser: str, problem: Problem, relation_weight: float, queries_at_once: int, size: float
) -> None:
    """Also for scores in the thousands, whose exponentials no floating-point number holds."""
    for table in problem.model.tables.values():
        table.mul_(size)
    config = TrainConfig(regulariser=regulariser, reg_weight=0.3, relation_weight=relation_weight)
    loss, penalty, gradients = compute(problem, config, queries_at_once)

    model = problem.model
    model.entities.requires_grad_(True)
    model.relations.requires_grad_(True)
    plain_loss, plain_pen = plain_objective(problem, config)
    (plain_loss + plain_pen).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    torch.testing.assert_close(loss, float(plain_loss.detach()))
    torch.testing.assert_close(penalty, float(plain_pen.detach()))
    torch.testing.assert_close(gradients["entities"].values, model.entities.grad)
    torch.testing.assert_close(gradients["relations"].values, model.relations.grad)


@settings(max_examples=25)
@given(problem=problems(), queries_at_once=st.sampled_from([1, 99]), size=st.sampled_from([1.0, 6.0]))
def test_products_of_bfloat16_change_little(problem: Problem, queries_at_once: int, size: float) -> None:
    """Numbers with 8 bits are off by up to 1/256, and scores made of them by as much of their terms."""
    model = problem.model
    model.entities, model.relations = (size**0.5 * table.float() for table in (model.entities, model.relations))
    batch = make_batch(model, problem.queries, np.arange(len(problem.queries)))
    config = TrainConfig(regulariser="none")
    loss, _, gradients = loss_and_gradients(model, batch, config, Workspace(queries_at_once, 1))
    exact = {name: gradient.values.clone() for name, gradient in gradients.items()}
    rounded, _, gradients = loss_and_gradients(model, batch, config, Workspace(queries_at_once, 1, "bfloat16"))

    q = model.queries(problem.queries.entity, problem.queries.relation, problem.queries.side)
    off = 2**-7 * float((q.abs() @ model.entities.abs().T).max())  # of a score, at most
    assert float(rounded) == pytest.approx(float(loss), abs=2 * off + 0.01)
    assert rounded.dtype == torch.float32
    for name, values in exact.items():
        assert gradients[name].values.dtype == torch.float32
        error = (gradients[name].values - values).norm()
        assert error <= (0.02 + 2 * off) * max(float(values.norm()), float(model.entities.norm())), name


def test_dropout_drops_the_same_coordinates_in_query_and_gradient() -> None:
    """With dropout on, a finite difference along a parameter agrees with the gradient under the same mask."""
    from eras.graph.queries import Queries
    from eras.scoring import named

    model = BlockBilinear(named("complex"), ["a", "b"], 5, 8, reciprocal=True)
    generator = torch.Generator().manual_seed(1)
    model.entities = torch.randn(model.entities.shape, generator=generator).double()
    model.relations = torch.randn(model.relations.shape, generator=generator).double()
    triples = np.array([[0, 0, 1], [0, 0, 2], [3, 1, 4]])
    problem = Problem(model, triples, Queries.of(triples, 5, 2))
    config = TrainConfig(regulariser="none", dropout=0.5)
    batch = double(make_batch(model, problem.queries, np.arange(len(problem.queries))))

    def run() -> tuple[float, Gradients]:
        mask = torch.Generator().manual_seed(7)
        loss, _, gradients = loss_and_gradients(model, batch, config, Workspace(99, 1), mask)
        return float(loss), gradients

    base, gradients = run()
    for name, table in model.tables.items():
        gradient = gradients[name].values
        for row, column in ((0, 0), (1, 5), (3, 7)):
            table[row, column] += 1e-6
            moved, _ = run()
            table[row, column] -= 1e-6
            assert (moved - base) / 1e-6 == pytest.approx(float(gradient[row, column]), abs=1e-4)


def test_complex_couples_real_and_imaginary_part_and_distmult_couples_nothing() -> None:
    from eras.scoring import Structure
    from eras.scoring.query import Plan

    assert couplings(Plan.of(Structure([[1, 2], [-2, 1]]))) == (((0, 1),), ((0, 1),))
    assert couplings(Plan.of(Structure([[1, 0], [0, 2]]))) == (((0,), (1,)), ((0,), (1,)))
    analogy = Structure([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 4], [0, 0, -4, 3]])
    assert couplings(Plan.of(analogy)) == (((0,), (1,), (2, 3)),) * 2


@settings(max_examples=25)
@given(problems(), st.integers(1, 6), st.integers(0, 999))
def test_sampled_candidates_stand_for_all_entities(problem: Problem, size: int, seed: int) -> None:
    """The loss over answers and a weighted sample, and its gradients, against autograd on the definition."""
    model = problem.model
    batch = double(make_batch(model, problem.queries, np.arange(len(problem.queries))))
    wanted = torch.cat([batch.answer_entity, batch.entity])
    drawn = sample_candidates(wanted, model.n_entities, size, np.random.default_rng(seed))
    assert torch.equal(drawn.entity[drawn.position], wanted)
    assert len(set(drawn.entity.tolist())) == len(drawn.entity)
    weight = drawn.log_weight.double().exp().squeeze(1)
    others = torch.tensor([e not in set(wanted.tolist()) for e in drawn.entity.tolist()])
    assert (weight[~others] == 1).all()
    if others.any():
        assert float(weight[others].sum()) == pytest.approx(model.n_entities - len(set(wanted.tolist())), rel=1e-5)

    drawn = Candidates(drawn.entity, drawn.position, drawn.log_weight.double())
    config = TrainConfig(regulariser="none")
    loss, _, gradients = loss_and_gradients(model, batch, config, Workspace(3, 1), candidates=drawn)

    entities, relations = (x.clone().requires_grad_() for x in (model.entities, model.relations))
    h, r = entities[batch.entity], relations[batch.relation]
    parts = []
    for s in batch.segments:
        hs, rs = (s.of(x).view(s.stop - s.start, s.plan.blocks, -1) for x in (h, r))
        terms = [
            [sign * hs[:, i] * rs[:, k] for i, k, j, sign in s.plan.to_tail if j == b] for b in range(s.plan.blocks)
        ]
        parts.append(torch.cat([sum(t) if t else 0 * hs[:, 0] for t in terms], 1))
    q = torch.cat(parts)
    scores = q @ entities[drawn.entity].T + drawn.log_weight.T
    expected = -scores.log_softmax(1)[batch.answer_row, drawn.position[: batch.n_answers]].mean()
    expected.backward()
    assert float(loss) == pytest.approx(expected.item(), rel=1e-6)
    rows = gradients["entities"].rows
    assert rows is not None
    assert not entities.grad[[e for e in range(model.n_entities) if e not in set(rows.tolist())]].any()
    torch.testing.assert_close(gradients["entities"].values, entities.grad[rows], rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(gradients["relations"].values, relations.grad, rtol=1e-5, atol=1e-7)
