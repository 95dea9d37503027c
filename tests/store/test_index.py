"""Approximate answers: what an index must find, and when it must not be asked."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.torch import load_file, save_file

import eras
from eras.errors import DamagedError, UsageError
from eras.models import build_model, to_function
from eras.store.index import EntityIndex

RNG = np.random.default_rng(0)
N, TRIPLES = 400, 2500
FRAME = pl.DataFrame(
    {
        "head": [f"e{i}" for i in (N * RNG.random(TRIPLES) ** 2).astype(int)],
        "relation": [f"r{i}" for i in RNG.integers(3, size=TRIPLES)],
        "tail": [f"e{i}" for i in (N * RNG.random(TRIPLES) ** 3).astype(int)],
    }
)
PARTS = ["head", "relation", "tail"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexed") / "run"
    eras.train(eras.load_graph(FRAME, name="random"), "complex", out=folder, dim=16, epochs=3, threads=1)
    eras.Model.load(folder).build_index(recall=0.9)
    return folder


@pytest.fixture
def model(folder: Path) -> eras.Model:
    return eras.Model.load(folder)


def untrained(spec: str, dim: int = 16) -> eras.Model:
    graph, function = eras.load_graph(FRAME, name="random"), to_function(spec)
    names = graph.relations.names.to_list()
    scorer = build_model(function, names, len(graph.entities), dim, reciprocal=True)
    scorer.initialise(0, "normal", 0.5)
    return eras.Model(scorer, function, graph, eras.TrainConfig(dim=dim), {})


def with_probes(model: eras.Model, probes: int) -> EntityIndex:
    model._index = replace(model.index, probes=probes)
    return model._index


def pairs(found: tuple[np.ndarray, ...]) -> set[tuple[int, int]]:
    return set(zip(found[0].tolist(), found[1].tolist(), strict=True))


@pytest.mark.parametrize("spec", ["complex", "tucker", "conve:channels=2", "rotate", "transe:norm=2"])
def test_all_lists_give_the_exact_answers(spec: str) -> None:
    model = untrained(spec)
    with_probes(model, model.build_index().lists.nlist)
    assert model.index.lists.nlist > 10
    for asked in ({"head": ["e1", "e7", "e30"]}, {"tail": ["e0", "e2"]}):
        exact = model.predict(**asked, relation="r1", k=20)
        near = model.predict(**asked, relation="r1", k=20, approximate=True)
        assert near["score"].to_numpy() == pytest.approx(exact["score"].to_numpy(), abs=1e-3)
        same = exact.select(PARTS).join(near.select(PARTS), on=PARTS)
        assert len(same) >= 0.98 * len(exact), "but for neighbours with nearly equal scores"


def test_the_recall_asked_for_is_met_by_the_fewest_lists(model: eras.Model) -> None:
    index, graph = model.index, model.graph
    from eras.graph.queries import Queries

    q = Queries.of(graph.valid, len(graph.entities), len(graph.relations))
    asked = q.entity, q.relation, q.side
    exact = pairs(model.best_entities(*asked, 10, True))
    reached = [
        len(exact & pairs(model.near_entities(replace(index, probes=p), *asked, 10, True))) / len(exact)
        for p in (index.probes - 1, index.probes)
    ]
    assert reached[0] < 0.9 <= reached[1]
    assert reached[1] == pytest.approx(index.about["recall@10"])
    assert 1 < index.probes < index.lists.nlist


def test_the_seed_decides_the_index(model: eras.Model) -> None:
    model.folder = None
    built = [model.build_index(seed=seed).lists for seed in (0, 0, 1)]
    centres = [lists.quantizer.reconstruct_n(0, lists.nlist) for lists in built]
    assert np.array_equal(centres[0], centres[1])
    assert not np.array_equal(centres[0], centres[2])


@pytest.mark.parametrize("probes", [1, 5])
def test_known_facts_are_left_out_and_k_answers_come_back(model: eras.Model, probes: int) -> None:
    with_probes(model, probes)
    facts = {(h, r, t) for h, r, t in FRAME.rows()}
    asked = {"head": ["e0", "e1", "e399", "e250"], "relation": "r0"}
    known = sum((h, "r0", f"e{i}") in facts for h in asked["head"] for i in range(N))
    assert known > 10
    found = model.predict(**asked, k=50, approximate=True)
    assert len(found) == 4 * 50
    assert not facts & set(found.select(PARTS).rows())
    for _, part in found.group_by("head", maintain_order=True):
        assert part["score"].is_sorted(descending=True)
    everything = len(model.graph.entities)
    assert len(model.predict(**asked, k=1000, approximate=True)) == 4 * everything - known
    assert len(model.predict(**asked, k=1000, approximate=True, exclude_known=False)) == 4 * everything


def test_probabilities_are_given_but_not_that_of_the_first(model: eras.Model) -> None:
    exact = model.predict(head="e3", relation="r1", k=5)
    near = model.predict(head="e3", relation="r1", k=5, approximate=True)
    assert "first_is_right" in exact.columns
    assert near.columns == [*PARTS, "score", "probability"]
    same = near.join(exact, on=PARTS)
    assert len(same)
    assert same["probability"].to_numpy() == pytest.approx(same["probability_right"].to_numpy(), abs=1e-6)


def test_an_index_of_other_parameters_is_refused(folder: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    model = eras.Model.load(folder)
    model.build_index(recall=0.9)
    eras.save_model(model, saved)
    question = {"head": "e3", "relation": "r1", "k": 3, "approximate": True}
    assert len(eras.Model.load(saved).predict(**question)) == 3
    weights = load_file(saved / "weights.safetensors")
    weights["entities"][5] += 1
    save_file(weights, saved / "weights.safetensors")
    stale = eras.Model.load(saved)
    with pytest.raises(DamagedError, match=r"made from other parameters.*build it with `eras index"):
        stale.predict(**question)
    assert len(stale.predict(head="e3", relation="r1", k=3)) == 3
    stale.build_index()
    assert len(eras.Model.load(saved).predict(**question)) == 3
    (saved / "index.faiss").write_bytes((saved / "index.faiss").read_bytes()[:1000])
    with pytest.raises(DamagedError, match="cannot be used"):
        eras.Model.load(saved).predict(**question)
    (saved / "index.json").unlink()
    with pytest.raises(UsageError, match=r"has no index.*eras index"):
        eras.Model.load(saved).predict(**question)


def test_a_grown_model_has_no_index(model: eras.Model) -> None:
    model.build_index()
    model.add_entity("new", [("new", "r0", "e1"), ("e2", "r1", "new")])
    with pytest.raises(UsageError, match="has no index"):
        model.predict(head="new", relation="r0", approximate=True)


def test_relations_are_always_ranked_exactly() -> None:
    model = untrained("complex")
    exact = model.predict(head="e1", tail="e2", k=3)
    assert model.predict(head="e1", tail="e2", k=3, approximate=True).equals(exact)


@pytest.mark.parametrize("spec", ["ntn", "transh", "transe"])
def test_models_that_compare_in_another_way_are_refused(spec: str) -> None:
    model = untrained(spec, 4)
    with pytest.raises(UsageError, match=f"{spec} cannot be indexed"):
        model.build_index()
    with pytest.raises(UsageError, match=f"{spec} cannot be indexed"):
        model.predict(head="e1", relation="r0", approximate=True)


def test_wrong_requests(model: eras.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    for recall in (0.0, 1.5, -1.0):
        with pytest.raises(UsageError, match="above 0 and at most 1"):
            model.build_index(recall=recall)
    with pytest.raises(UsageError, match="seed"):
        model.build_index(seed=-1)
    monkeypatch.setitem(sys.modules, "faiss", None)
    for request in (model.build_index, lambda: model.predict(head="e1", relation="r0", approximate=True)):
        with pytest.raises(UsageError, match=r"pip install 'eras-kge\[ann\]'"):
            request()
