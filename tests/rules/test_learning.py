"""What is counted must be what the definitions say: every count is compared with loops over all groundings."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eras.errors import SettingError
from eras.graph import TrainingView, Vocabulary, load_graph
from eras.graph.planted import Plan, plant
from eras.rules.attributes import build_attributes, link_constants
from eras.rules.config import RuleConfig, recommend_rules
from eras.rules.index import LONGEST, build_index
from eras.rules.learner import Learner
from eras.rules.ruleset import RuleSet, reversed_bodies, trusted
from eras.rules.walks import draw_bodies, make_room, measure
from groundings import edges_of, facts, pairs_of


def padded(bodies: list[tuple[int, ...]]) -> np.ndarray:
    return np.array([[*body, *[-1] * (LONGEST - len(body))] for body in bodies], np.int32)


@given(facts(), st.data())
def test_a_body_is_measured_for_all_heads_as_its_groundings_say(
    problem: tuple[np.ndarray, int, int], data: st.DataObject
) -> None:
    triples, n, R = problem
    index, edges = build_index(triples, n, R), edges_of(triples, R)
    body = tuple(data.draw(st.lists(st.integers(0, 2 * R - 1), min_size=1, max_size=3)))
    predicted, rows = measure(index, padded([body]), np.random.default_rng(0), 10**9, 1, 1, make_room(n))
    pairs = pairs_of(body, edges, n)
    assert predicted.tolist() == [len(pairs)]
    expected = {d: sum((x, d, y) in edges for x, y in pairs) for d in range(2 * R)}
    heads = {d: count for d, count in expected.items() if count and body != (d,)}
    assert {d: count for _, d, count in rows.tolist()} == heads


@given(facts())
def test_rules_with_constants_are_counted_out(problem: tuple[np.ndarray, int, int]) -> None:
    triples, n, R = problem
    index, edges = build_index(triples, n, R), edges_of(triples, R)
    a = build_attributes(index, with_paths=True)
    heads = np.arange(len(index.entity), dtype=np.int32)
    found = {
        ((a.first[h], a.entity[h]), (a.first[b], a.second[b], a.entity[b])): support
        for h, b, support in link_constants(a, heads, 2, 0.0, 0.0, np.zeros(len(a.entity), np.int32)).tolist()
    }
    has: dict[int, set[tuple[int, int, int]]] = {x: set() for x in range(n)}
    for x, d, y in edges:
        has[x] |= {(d, -1, y), (d, -1, -1)}
        has[x] |= {(d, c, z) for u, c, z in edges if u == y and len({x, y, z}) == 3}
    expected: dict[tuple[tuple[int, int], tuple[int, int, int]], int] = {}
    for x, attributes in has.items():
        for head, body in itertools.product(attributes, attributes):
            if head[1] < 0 and head[2] >= 0 and head != body and (x, head[0], head[2]) in edges:
                key = (head[0], head[2]), body
                expected[key] = expected.get(key, 0) + 1
    assert found == {key: support for key, support in expected.items() if support >= 2}


@given(facts(), st.integers(2, 5), st.integers(0, 99))
def test_drawn_bodies_link_facts_and_face_one_way(problem: tuple[np.ndarray, int, int], length: int, seed: int) -> None:
    triples, n, R = problem
    index, edges = build_index(triples, n, R), edges_of(triples, R)
    rows = draw_bodies(index, 50, np.array([length], np.int32), np.random.default_rng(seed))
    back = reversed_bodies(rows, R)
    for body, turned in {(tuple(b), tuple(t)) for b, t in zip(rows.tolist(), back.tolist(), strict=True)}:
        atoms = body[:length]
        assert min(atoms) >= 0
        assert all(d < 0 for d in body[length:])
        walks = {x: {x} for x in range(n)}
        for d in atoms:
            walks = {x: {v for u, e, v in edges if e == d and u in ends} for x, ends in walks.items()}
        assert any((x, d, y) in edges for x, ends in walks.items() for y in ends for d in range(2 * R))
        assert turned == body or list(turned) not in rows.tolist()


def test_a_large_body_is_measured_on_a_sample_that_is_close() -> None:
    graph = load_graph("umls")
    index = build_index(graph.train, len(graph.entities), len(graph.relations))
    isa, affects = graph.relations.id("isa"), graph.relations.id("affects")
    body, room = padded([(affects, isa)]), make_room(len(graph.entities))
    whole, rows = measure(index, body, np.random.default_rng(0), 10**9, 1, 1, room)
    part, some = measure(index, body, np.random.default_rng(0), 100, 20, 1, room)
    assert 0 < part[0] < whole[0]
    share = {d: count / whole[0] for _, d, count in rows.tolist()}[affects]
    assert {d: count / part[0] for _, d, count in some.tolist()}[affects] == pytest.approx(share, abs=0.15)


@pytest.fixture(scope="module")
def umls() -> TrainingView:
    return load_graph("umls").training_view()


def test_rounds_decide_the_rules_and_threads_do_not(umls: TrainingView) -> None:
    config = RuleConfig(rounds=2, budget=500)
    one, two = (Learner(umls, config, threads=threads).run().frame for threads in (1, 3))
    assert len(one) > 10_000
    assert one.equals(two)
    assert not Learner(umls, config.updated(seed=1), threads=2).run().frame.equals(one)


def test_learning_that_was_stopped_goes_on_to_the_bit(umls: TrainingView, tmp_path) -> None:
    config = RuleConfig(rounds=3, constants=False)
    stop = threading.Event()
    first = Learner(umls, config, tmp_path)
    first.run(lambda progress: stop.set() if first.round == 1 else None, stop.is_set)
    again = Learner(umls, config, tmp_path)
    assert again.round == 1
    assert again.run().frame.equals(Learner(umls, config).run().frame)


def test_learning_whose_time_is_over_still_has_its_rules_with_constants(umls: TrainingView, tmp_path) -> None:
    config = RuleConfig(seconds=3.0)
    counts = [Learner(umls, config, tmp_path).run().frame["head_entity"].count() for _ in range(2)]
    assert counts[0] == counts[1] > 100_000


def test_planted_rules_are_found_and_trusted_most() -> None:
    graph = plant(Plan(entities=80, triples_per_relation=120), 0).graph
    rules = Learner(graph.training_view(), RuleConfig(rounds=5)).run()
    texts = {row["rule"]: row["confidence"] for row in rules.to_dicts()}
    symmetric = next(name for name in graph.relations.names if name.startswith("symmetric"))
    assert texts[f"{symmetric}(X, Y) ← {symmetric}(Y, X)"] > 0.5
    assert f"{symmetric}(X, Y) ← {symmetric}(X, Y)" not in texts
    confidence = rules.frame.select(trusted()).to_series()
    assert confidence.is_sorted(descending=True)
    assert (
        rules.frame.select(pl.struct(pl.exclude("support", "predicted", "confidence")).is_duplicated().any()).item()
        is False
    )


def test_rules_read_as_they_were_written(umls: TrainingView, tmp_path) -> None:
    rules = Learner(umls, RuleConfig(rounds=1)).run()
    rules.save(tmp_path)
    again = RuleSet.load(tmp_path, umls.entities, umls.relations)
    assert again.frame.equals(rules.frame)
    lines = (tmp_path / "rules.txt").read_text().splitlines()
    assert len(lines) == len(rules)
    assert lines[0].endswith(rules.text(0))
    assert set(again.about("causes").frame["head"]) <= {umls.relations.id("causes") + shift for shift in (0, 46)}


def test_how_rules_are_written() -> None:
    names = (
        Vocabulary("relation", pl.Series(["language_of", "lives", "speaks"])),
        Vocabulary("entity", pl.Series(["latin", "rome"])),
    )
    empty = dict.fromkeys(("head_entity", "body2", "body3", "body4", "body5", "body_entity"))
    figures = {"support": 3, "predicted": 4, "confidence": 1 / 3}
    rows = [
        {**empty, "head": 2, "body1": 1, "body2": 3, **figures},
        {**empty, "head": 2, "head_entity": 0, "body1": 1, "body_entity": 1, **figures},
        {**empty, "head": 3, "head_entity": 1, "body1": 4, **figures},
    ]
    rules = RuleSet.of([pl.DataFrame(rows)], names[1], names[0])
    assert {row["rule"] for row in rules.to_dicts()} == {
        "speaks(X, Y) ← lives(X, A), language_of(Y, A)",
        "speaks(X, latin) ← lives(X, rome)",
        "language_of(rome, X) ← lives(A, X)",
    }
    assert rules.text(2) == "language_of(rome, X) ← lives(A, X)", "a body without a constant is trusted least"


def test_settings_are_chosen_and_checked(umls: TrainingView) -> None:
    assert recommend_rules(umls).length == 3
    assert not recommend_rules(umls).paths
    few = TrainingView("few", umls.entities, umls.relations, umls.train[:300], umls.valid)
    assert recommend_rules(few).length == 5
    assert recommend_rules(few).paths
    assert recommend_rules(umls, rounds=2).seconds is None
    hub = np.column_stack([np.arange(20_000), np.zeros(20_000), np.zeros(20_000)]).astype(np.int32)
    names = Vocabulary("entity", pl.Series([f"{i:05}" for i in range(20_000)]))
    star = TrainingView("star", names, umls.relations, hub, hub[:0])
    assert not recommend_rules(star).paths
    with pytest.raises(SettingError, match="too many to count: use --no-paths"):
        recommend_rules(star, paths=True)
    many = Vocabulary("relation", pl.Series([f"{i:05}" for i in range(5_000)]))
    with pytest.raises(SettingError, match="length 5 is too long for 5,000 relations: use 4"):
        recommend_rules(TrainingView("many", umls.entities, many, umls.train, umls.valid), length=5)
    with pytest.raises(SettingError, match=r"length = 9"):
        recommend_rules(umls, length=9)
