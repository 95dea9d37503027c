"""A fact's score, as a mean of questions, as one product, and as a sum of block terms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear
from eras.models.facts import fact_queries, fact_scores, fact_terms
from eras.scoring.named import NAMES, named
from problems import Problem, plain_score, problems


@given(problems())
def test_terms_add_up_to_the_score(problem: Problem) -> None:
    model = problem.model
    scores = fact_scores(model, problem.triples)
    for (h, r, t), score in zip(problem.triples.tolist(), scores, strict=True):
        exact = (plain_score(model, h, r, t, TAIL) + plain_score(model, h, r, t, HEAD)) / 2
        assert float(exact) == pytest.approx(float(score), abs=1e-5)
        assert sum(term.value for term in fact_terms(model, h, r, t)) == pytest.approx(float(score), abs=1e-5)
        queries = fact_queries(model, model.entities, r)
        assert float(queries[h] @ model.entities[t]) == pytest.approx(float(score), abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reciprocal", [True, False])
def test_terms_of_named_functions(name: str, reciprocal: bool) -> None:
    model = BlockBilinear(named(name), ["a", "b"], 5, 16, reciprocal=reciprocal)
    model.initialise(0, "normal", 1.0)
    for triple in ([0, 0, 1], [2, 1, 2], [4, 1, 3]):
        terms = fact_terms(model, *triple)
        assert len(terms) == len(named(name).structures[0].terms)
        score = float(fact_scores(model, np.array([triple]))[0])
        assert sum(term.value for term in terms) == pytest.approx(score, abs=1e-5)


def test_a_term_is_the_product_of_its_blocks() -> None:
    model = BlockBilinear(named("complex"), ["r"], 2, 4, reciprocal=False)
    model.entities[:] = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    model.relations[:] = torch.tensor([[1.0, 10, 100, 1000]])
    found = {(t.head, t.relation, t.tail): (t.sign, t.value) for t in fact_terms(model, 0, 0, 1)}
    assert found[0, 0, 0] == (1, 1 * 1 * 5 + 2 * 10 * 6)
    negative = [(key, sign, value) for key, (sign, value) in found.items() if sign < 0]
    assert len(negative) == 1
    (h, r, t), _, value = negative[0]
    blocks = [torch.tensor(v).chunk(2) for v in ([1.0, 2, 3, 4], [1.0, 10, 100, 1000], [5.0, 6, 7, 8])]
    assert value == -float((blocks[0][h] * blocks[1][r] * blocks[2][t]).sum())
