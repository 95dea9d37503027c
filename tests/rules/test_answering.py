"""Predictions against their definition: all rules that predict a candidate, compared from the best on."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eras.graph import TrainingView, Vocabulary, load_graph
from eras.rules.config import RuleConfig
from eras.rules.learner import Learner
from eras.rules.ranker import RuleRanker
from eras.rules.ruleset import BODY, RuleSet, trusted
from groundings import edges_of, facts, pairs_of


def by_definition(rules: RuleSet, triples: np.ndarray, x: int, d: int) -> dict[int, list[float]]:
    """The trusted confidences of the rules that say that d leads from x to a candidate, the highest first."""
    n, R = len(rules.entities), len(rules.relations)
    edges = edges_of(triples, R)
    turned = d - R if d >= R else d + R
    predicted: dict[int, list[float]] = {}
    for row, confidence in zip(
        rules.frame.iter_rows(named=True), rules.frame.select(trusted()).to_series(), strict=True
    ):
        body = tuple(row[column] for column in BODY if row[column] is not None)
        if row["head_entity"] is None:
            links = pairs_of(body, edges, n)
            found = {y for u, y in links if u == x} if row["head"] == d else set()
            found = {u for u, y in links if y == x} if row["head"] == turned else found
        else:
            ends = [row["body_entity"]] if row["body_entity"] is not None else range(n)
            holders = {u for u in range(n) for end in ends if _leads(u, body, end, edges)}
            constant = row["head_entity"]
            found = {constant} if row["head"] == d and x in holders else set()
            found |= holders if row["head"] == turned and constant == x else set()
        for y in found:
            predicted.setdefault(y, []).append(confidence)
    return {y: sorted(confidences, reverse=True) for y, confidences in predicted.items()}


def _leads(u: int, body: tuple[int, ...], end: int, edges: set[tuple[int, int, int]]) -> bool:
    if len(body) == 1:
        return (u, body[0], end) in edges
    middles = {v for w, d, v in edges if w == u and d == body[0]}
    return any((v, body[1], end) in edges and len({u, v, end}) == 3 for v in middles)


@given(facts(), st.integers(0, 99), st.data())
def test_candidates_are_in_the_order_of_all_their_rules(
    problem: tuple[np.ndarray, int, int], seed: int, data: st.DataObject
) -> None:
    triples, n, R = problem
    entities = Vocabulary("entity", pl.Series([f"e{i}" for i in range(n)]))
    relations = Vocabulary("relation", pl.Series([f"r{i}" for i in range(R)]))
    view = TrainingView("small", entities, relations, triples.astype(np.int32), triples[:0].astype(np.int32))
    rules = Learner(view, RuleConfig(rounds=1, support=1, paths=True), threads=1).run()
    # Few different confidences, so that there are ties to be broken; and not all rules.
    rng = np.random.default_rng(seed)
    coarse = (pl.col("confidence") * 10).ceil() / 10
    rules = RuleSet.of([rules.frame.sample(fraction=0.5, seed=seed).with_columns(coarse)], entities, relations)
    x, r, side = int(rng.integers(n)), int(rng.integers(R)), data.draw(st.integers(0, 1))
    question = np.array([x]), np.array([r]), np.array([side])
    expected = by_definition(rules, triples, x, side * R + r)

    scores = RuleRanker(rules, view, threads=1).scores(*question)[:, 0].tolist()
    for y in range(n):
        for z in range(n):
            if y in expected or z in expected:
                ours, truth = scores[y] > scores[z], expected.get(y, []) > expected.get(z, [])
                assert ours == truth, (y, z, expected, scores)
    for y, confidences in expected.items():
        assert scores[y] == pytest.approx(confidences[0], rel=1e-6)

    noisy = RuleRanker(rules, view, "noisy-or", threads=1).scores(*question)[:, 0].tolist()
    for y, confidences in expected.items():
        assert noisy[y] == pytest.approx(-sum(math.log1p(-min(c, 0.999999)) for c in confidences), rel=1e-5)


@pytest.fixture(scope="module")
def umls() -> RuleRanker:
    view = load_graph("umls").training_view()
    return RuleRanker(Learner(view, RuleConfig(rounds=1)).run(), view)


def test_reasons_rest_on_facts_and_make_up_the_score(umls: RuleRanker) -> None:
    graph = load_graph("umls")
    facts = {tuple(fact) for fact in _names(graph, graph.train)}
    explained = 0
    for head, relation, tail in graph.valid[::40].tolist():
        score = float(umls.scores(np.array([head]), np.array([relation]), np.array([0]))[tail, 0])
        reasons = umls.because(head, relation, tail, most=4)
        explained += bool(reasons)
        trust = [0.1 if "A)" in reason.rule and len(reason.facts) == 1 else 1.0 for reason in reasons]
        assert max((r.confidence * t for r, t in zip(reasons, trust, strict=True)), default=score) == pytest.approx(
            score, rel=1e-5
        )
        for reason in reasons:
            assert {tuple(fact) for fact in reason.facts} <= facts
            assert reason.rule.count("(") == 1 + len(reason.facts)
    assert explained > 10


def test_what_no_rule_predicts_comes_last_by_how_common_it_is(umls: RuleRanker) -> None:
    view = load_graph("umls").training_view()
    none = RuleRanker(RuleSet.of([umls.rules.frame[:0]], view.entities, view.relations), view)
    r = view.relations.id("causes")
    scores = none.scores(np.array([view.entities.id("alga")]), np.array([r]), np.array([0]))[:, 0].numpy()
    tails = np.bincount(view.train[view.train[:, 1] == r][:, 2], minlength=len(view.entities))
    assert (np.argsort(-scores, kind="stable") == np.argsort(-tails, kind="stable")).all()
    assert scores.max() < umls.rules.frame["confidence"].min()


def _names(graph, triples: np.ndarray) -> list[tuple[str, str, str]]:
    e, r = graph.entities, graph.relations
    return [(e.name(h), r.name(p), e.name(t)) for h, p, t in triples.tolist()]
