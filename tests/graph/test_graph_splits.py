from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from graph_files import RING, SPLIT_RING, Triple, facts, lines, ring_graphs, write
from hypothesis import assume, given
from hypothesis import strategies as st

from eras.errors import DataError
from eras.graph import Graph, load_graph


def graph_of(triples: list[Triple], **options: object) -> Graph:
    return load_graph(pl.DataFrame(triples, schema=["h", "r", "t"], orient="row"), **options)  # type: ignore[arg-type]  # options of any kind


@given(ring_graphs(), st.integers(0, 2**31), st.sampled_from([(0.1, 0.1), (0.3, 0.0), (0.05, 0.4)]))
def test_held_out_triples_mention_only_what_train_does(
    triples: list[Triple], seed: int, holdout: tuple[float, float]
) -> None:
    try:
        graph = graph_of(triples, seed=seed, holdout=holdout)
    except DataError:
        assume(False)
    parts = [facts(graph, split) for split in ("train", "valid", "test")]
    assert sum(map(len, parts)) == len(triples)
    assert set.union(*parts) == set(triples)
    for held_out in (graph.valid, graph.test):
        assert np.isin(held_out[:, [0, 2]], graph.train[:, [0, 2]]).all()
        assert np.isin(held_out[:, 1], graph.train[:, 1]).all()
    assert 1 <= len(graph.valid) <= max(1, round(holdout[0] * len(triples)))
    assert len(graph.test) <= round(holdout[1] * len(triples))


@given(st.integers(0, 100), st.randoms(use_true_random=False))
def test_the_split_depends_on_the_facts_and_the_seed_alone(seed: int, shuffler: random.Random) -> None:
    shuffled = RING + RING[:5]
    shuffler.shuffle(shuffled)
    graph = graph_of(RING, seed=seed)
    assert graph_of(shuffled, seed=seed).fingerprint == graph.fingerprint
    assert graph_of(RING, seed=seed + 1).fingerprint != graph.fingerprint


def test_fractions_are_met_where_enough_triples_are_free() -> None:
    triples = [(f"e{i}", "r", f"e{j}") for i in range(20) for j in range(20)]
    graph = graph_of(triples, holdout=(0.2, 0.1))
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (280, 80, 40)
    assert any("80 valid and 40 test triples held out of 400 (seed 0)" in note for note in graph.notes)


@pytest.mark.parametrize(
    ("given_splits", "held_out"),
    [({"train"}, "4 valid and 4 test"), ({"train", "test"}, "3 valid"), ({"train", "valid"}, "3 test")],
)
def test_missing_splits_are_held_out_of_train(tmp_path: Path, given_splits: set[str], held_out: str) -> None:
    rows = {"train": RING} if given_splits == {"train"} else SPLIT_RING
    for split in given_splits:
        write(tmp_path / f"{split}.txt", lines(rows[split]))
    graph = load_graph(tmp_path)
    assert any(f"{held_out} triples held out of {len(rows['train'])}" in note for note in graph.notes)
    for split in given_splits - {"train"}:
        assert facts(graph, split) == set(rows[split])
    assert facts(graph) == {row for split in given_splits for row in rows[split]}


def test_unseen_names_are_told() -> None:
    extra = [("new", "p", "e1"), ("e1", "s", "e2")]
    frames = {"train": RING[:30], "valid": RING[30:], "test": extra}
    graph = load_graph({split: pl.DataFrame(rows, orient="row") for split, rows in frames.items()})
    assert "1 entities of test never occur in train" in graph.notes
    assert "1 relations of test never occur in train" in graph.notes


def test_training_sees_no_test_triples() -> None:
    graph = graph_of(RING)
    view = graph.training_view()
    assert not hasattr(view, "test")
    assert view.train is graph.train
    assert view.valid is graph.valid
    assert graph.train.dtype == graph.test.dtype == np.int32
