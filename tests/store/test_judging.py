"""Probabilities, explanations, discoveries and new entities, by name."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import eras
from eras.errors import DamagedError, UnknownNameError, UsageError
from eras.evaluation import discovery
from eras.models import ARCHITECTURES

QUICK = {"dim": 32, "epochs": 15, "threads": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judging") / "umls"
    eras.train("umls", "simple", out=folder, **QUICK)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> eras.Model:
    return eras.Model.load(folder)


def facts(graph: eras.Graph, split: str) -> list[tuple[str, str, str]]:
    e, r = graph.entities.names.to_list(), graph.relations.names.to_list()
    return [(e[h], r[p], e[t]) for h, p, t in graph.split(split)]


def test_a_trained_model_is_calibrated_and_says_how_well(model: eras.Model) -> None:
    measured = model.metrics["calibration"]
    assert measured["after"]["brier"] < measured["before"]["brier"]
    assert measured["after"]["ece"] < measured["before"]["ece"]
    assert abs(measured["first"]["probability"] - measured["first"]["right"]) < 0.1
    assert "## Probabilities" in (model.folder / "README.md").read_text()
    known = model.probability(*map(list, zip(*facts(model.graph, "train")[:200], strict=True)))
    assert known.mean() > 0.8
    odd = model.probability("virus", "isa", "geographic_area")
    assert 0 < odd < 0.5


def test_predictions_carry_probabilities(model: eras.Model) -> None:
    frame = model.predict(head=["virus", "bacterium"], relation="causes", k=3)
    expected = model.probability(frame["head"].to_list(), frame["relation"].to_list(), frame["tail"].to_list())
    assert frame["probability"].to_numpy() == pytest.approx(expected)
    assert frame["first_is_right"].is_null().to_list() == [False, True, True, False, True, True]
    between = model.predict(head="virus", tail="disease_or_syndrome", k=2)
    assert "first_is_right" not in between.columns
    assert between["probability"].is_between(0, 1).all()
    uncalibrated = copy.copy(model)
    uncalibrated.calibrated = None
    assert "probability" not in uncalibrated.predict(head="virus", relation="causes").columns
    with pytest.raises(UsageError, match="not calibrated"):
        uncalibrated.probability("virus", "isa", "virus")


def test_calibration_is_kept_and_read_back(folder: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(folder, tmp_path / "copy"))
    model = eras.Model.load(place)
    model.calibrate(method="isotonic", seed=3)
    triples = model.graph.test.astype(np.int64)
    assert eras.Model.load(place).probabilities(triples) == pytest.approx(model.probabilities(triples))
    assert json.loads((place / "calibration.json").read_text())["about"]["method"] == "isotonic"
    (place / "calibration.json").write_text('{"relations": {}}')
    with pytest.raises(DamagedError, match="cannot be used"):
        eras.Model.load(place)
    (place / "calibration.json").unlink()
    assert eras.Model.load(place).calibrated is None


def test_explanations(model: eras.Model) -> None:
    claim = model.explain("virus", "causes", "disease_or_syndrome")
    assert claim.known == "train"
    assert claim.score == pytest.approx((claim.tail_score + claim.head_score) / 2, abs=1e-5)
    assert sum(term.value for term in claim.terms) == pytest.approx(claim.score, abs=1e-5)
    assert claim.probability == pytest.approx(model.probability("virus", "causes", "disease_or_syndrome"))
    assert ("virus", "disease_or_syndrome") not in [(fact.head, fact.tail) for fact in claim.similar]
    held_out = facts(model.graph, "test")[5]
    ranked = model.evaluate("test").table.filter(
        (pl.col("head") == model.graph.test[5, 0])
        & (pl.col("relation") == held_out[1])
        & (pl.col("tail") == model.graph.test[5, 2])
    )
    by_side = {row["side"]: (row["low"], row["candidates"]) for row in ranked.iter_rows(named=True)}
    claim = model.explain(*held_out)
    assert claim.known == "test"
    assert (claim.tail_rank.low, claim.tail_rank.candidates) == by_side["tail"]
    assert (claim.head_rank.low, claim.head_rank.candidates) == by_side["head"]
    json.dumps(claim.to_json())
    unknown = model.explain("virus", "isa", "geographic_area")
    assert unknown.known is None
    assert unknown.tail_rank.candidates == len(model.graph.entities) - len(
        {
            t
            for h, r, t in (f for s in ("train", "valid", "test") for f in facts(model.graph, s))
            if (h, r) == ("virus", "isa")
        }
    )


def test_relations_are_explained(model: eras.Model) -> None:
    profile = model.explain_relation("process_of")
    assert (profile.pattern, profile.group) == ("general", 1)
    assert len(profile.shares_group_with) == len(model.graph.relations) - 1
    assert all(0 < row["share"] <= 1 and row["relation"] != "process_of" for row in profile.confused_with)
    assert profile.confused_with, "a quick model confuses much"
    json.dumps(profile.to_json())
    with pytest.raises(UnknownNameError, match="causes"):
        model.explain_relation("cause")


def test_discoveries_are_the_most_probable_of_all_unknown_triples(
    model: eras.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "ROWS", 32)
    monkeypatch.setattr(discovery, "COLUMNS", 40)
    found = model.discover(top=50)
    every = (
        np.indices((len(model.graph.entities), len(model.graph.relations), len(model.graph.entities))).reshape(3, -1).T
    )
    known = set(map(tuple, model.graph.facts.tolist()))
    loops = {r for h, r, t in known if h == t}
    kept = np.array([(h, r, t) not in known and (h != t or r in loops) for h, r, t in every.tolist()])
    scores = model.probabilities(every[kept])
    assert found["probability"].to_numpy() == pytest.approx(np.sort(scores)[::-1][:50])
    best = set(map(tuple, model.named(every[kept][np.argsort(-scores)[:49]]).rows()))
    assert best <= set(found.select("head", "relation", "tail").rows())
    of_one = model.discover("causes", top=10)
    assert of_one["relation"].unique().to_list() == ["causes"]
    assert of_one["probability"].to_numpy() == pytest.approx(
        model.probability(of_one["head"].to_list(), "causes", of_one["tail"].to_list())
    )


@pytest.fixture(scope="module")
def without_one() -> tuple[eras.Graph, eras.Graph, str]:
    """UMLS whole, and without one entity."""
    graph = eras.load_graph("umls")
    name = "virus"
    less = {
        split: pl.DataFrame(
            [fact for fact in facts(graph, split) if name not in (fact[0], fact[2])],
            schema=["head", "relation", "tail"],
            orient="row",
        )
        for split in ("train", "valid", "test")
    }
    return graph, eras.load_graph(less, name="less"), name


@pytest.mark.parametrize(("function", "share"), [("complex", 0.5), ("transe", 0.25)])
def test_an_entity_added_with_five_facts(
    function: str, share: float, without_one: tuple[eras.Graph, eras.Graph, str], tmp_path: Path
) -> None:
    """Its test MRR is that share of what training with all its facts gives."""
    whole, less, name = without_one
    trained, model = (eras.train(graph, function, dim=64, epochs=15, threads=1) for graph in (whole, less))
    before = model.predict(head="bacterium", relation="causes", k=3)
    entities = model.graph.entities.names.to_list()
    rows = {e: model.embedding(e) for e in entities[::20]}
    own = [fact for fact in facts(whole, "train") if name in (fact[0], fact[2])]
    given = [own[i] for i in np.random.default_rng(0).permutation(len(own))[:5]]
    model.add_entity(name, given)

    assert all(np.array_equal(model.embedding(e), row) for e, row in rows.items())
    after = model.predict(head="bacterium", relation="causes", k=4).filter(pl.col("tail") != name).head(3)
    assert after["tail"].to_list() == before["tail"].to_list()
    test = [fact for fact in facts(whole, "test") if name in (fact[0], fact[2])]
    mrr = {}
    for label, judged in (("added", model), ("trained", trained)):
        ranks = [judged.explain(*fact) for fact in test]
        mrr[label] = np.mean([1 / rank.low for claim in ranks for rank in (claim.tail_rank, claim.head_rank)])
    assert mrr["added"] >= share * mrr["trained"]

    eras.save_model(model, tmp_path / "saved")
    again = eras.Model.load(tmp_path / "saved")
    assert np.array_equal(again.embedding(name), model.embedding(name))
    assert again.predict(head=name, relation="isa", k=3).equals(model.predict(head=name, relation="isa", k=3))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_model_takes_new_entities(name: str) -> None:
    frame = pl.DataFrame(
        [(f"e{i}", f"r{i % 3}", f"e{(i * k) % 20}") for i in range(20) for k in (1, 3, 7)],
        schema=["head", "relation", "tail"],
        orient="row",
    )
    model = eras.train(eras.load_graph(frame, name="small"), name, dim=32, epochs=1, threads=1)
    before = model.score("e1", "r0", "e3")
    given = [("new", "r0", "e3"), ("e4", "r1", "new")]
    model.add_entity("new", given)
    assert model.score("e1", "r0", "e3") == pytest.approx(before, abs=1e-5)
    assert len(model.predict(head="new", relation="r0", k=50)) >= 19
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.scorer.parameters())


def test_a_graph_of_which_nothing_false_can_be_made_is_trained_all_the_same(tmp_path: Path) -> None:
    """Every pair of `s` is a fact, the last of them in test: it cannot be judged."""
    rows = [(f"e{i}", "r", f"e{(i + 1) % 4}") for i in range(4)]
    full = [(f"e{i}", "s", f"e{j}") for i in range(4) for j in range(4)]
    splits = {"train": [*rows[:3], *full[:-1]], "valid": rows[3:], "test": full[-1:]}
    frames = {k: pl.DataFrame(v, schema=["head", "relation", "tail"], orient="row") for k, v in splits.items()}
    model = eras.train(eras.load_graph(frames, name="full"), "distmult", dim=4, epochs=1, threads=1, out=tmp_path / "m")
    assert "after" not in (model.metrics["calibration"] or {})
    assert eras.Model.load(tmp_path / "m").metrics["test"]["mrr"] > 0


def test_facts_that_say_nothing_about_a_new_entity_are_refused(model: eras.Model) -> None:
    for name, given, message in (
        ("virus", [("virus", "isa", "organism")], "already"),
        ("new", [], "no facts about 'new'"),
        ("new", [("virus", "isa", "organism")], "is no fact about 'new'"),
        ("new", [("new", "isa", "new")], "is no fact about 'new'"),
        ("new", [("new", "isa", "orgnism")], "unknown entity 'orgnism'"),
        ("", [("", "isa", "organism")], "expected some text"),
    ):
        with pytest.raises(UsageError, match=message):
            model.add_entity(name, given)
