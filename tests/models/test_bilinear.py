from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from eras.errors import SettingError
from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear
from eras.scoring import named
from problems import Problem, plain_score, problems


@given(problems())
def test_triple_tail_head_and_relation_scores_are_the_definition(problem: Problem) -> None:
    model, (h, r, t) = problem.model, problem.triples[0]
    for side, asked, answer in ((TAIL, h, t), (HEAD, t, h)):
        expected = plain_score(model, h, r, t, side)
        query = model.queries(np.array([asked]), np.array([r]), np.array([side]))
        torch.testing.assert_close((query @ model.entities.T)[0, answer], expected)
        torch.testing.assert_close(model.score(problem.triples[:1], side)[0], expected)
    both = torch.stack([plain_score(model, h, r, t, side) for side in (TAIL, HEAD)])
    torch.testing.assert_close(model.relation_scores(np.array([h]), np.array([t]))[0, r], both.mean())


@given(problems(reciprocal=True))
def test_reciprocal_and_plain_coincide_when_the_two_embeddings_are_equal(problem: Problem) -> None:
    model = problem.model
    model.relations[model.n_relations :] = model.relations[: model.n_relations]
    tail, head = model.score(problem.triples, TAIL), model.score(problem.triples, HEAD)
    torch.testing.assert_close(tail, head)


@given(problems())
def test_a_batch_of_mixed_groups_and_sides_is_its_rows_one_by_one(problem: Problem) -> None:
    model, queries = problem.model, problem.queries
    together = model.queries(queries.entity, queries.relation, queries.side)
    for i in range(len(queries)):
        alone = model.queries(queries.entity[[i]], queries.relation[[i]], queries.side[[i]])
        torch.testing.assert_close(together[i], alone[0])


def test_dim_that_blocks_do_not_divide() -> None:
    with pytest.raises(SettingError, match=r"dim 255 cannot be cut into 2 equal blocks.*254 or 256"):
        BlockBilinear(named("complex"), ["r"], 3, 255, reciprocal=True)
