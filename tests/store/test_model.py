"""The model directory, and a model asked by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import eras
from eras.errors import DamagedError, FailureError, OutputError, UnknownNameError, UsageError

TRIPLES = [
    (f"person{i}", relation, f"person{(i * 7 + shift) % 20}")
    for i in range(20)
    for shift, relation in enumerate(["knows", "likes", "hires"], start=1)
] + [(f"person{i}", "lives_in", f"city{i % 4}") for i in range(20)]
FRAME = pl.DataFrame(TRIPLES, schema=["head", "relation", "tail"], orient="row")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "people"
    eras.train(eras.load_graph(FRAME, name="people"), "simple", out=folder, dim=16, epochs=20, threads=1)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> eras.Model:
    return eras.Model.load(folder)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_what_is_loaded_is_what_was_trained(folder: Path, model: eras.Model) -> None:
    again = eras.train(eras.load_graph(FRAME, name="people"), "simple", dim=16, epochs=20, threads=1)
    assert np.array_equal(model.scorer.entities.numpy(), again.scorer.entities.numpy())
    assert model.metrics["test"] == again.metrics["test"]
    assert model.evaluate("test").metrics["mrr"] == pytest.approx(model.metrics["test"]["mrr"])
    assert not list(folder.glob("*.safetensors.*")), "no temporary file stays behind"
    assert sorted(p.name for p in folder.glob("*.safetensors")) == ["weights.safetensors"]


def test_card_and_manifest_tell_how_the_model_was_made(folder: Path) -> None:
    card = (folder / "README.md").read_text()
    metrics = json.loads((folder / "metrics.json").read_text())
    assert "# simple on people" in card
    assert "function.svg" in card
    assert f"{metrics['test']['mrr']:.4f}" in card
    assert "| dim | 16 |" in card
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["graph"]["fingerprint"] == eras.load_graph(FRAME).fingerprint


@pytest.mark.parametrize("asked", ["head", "relation", "tail"])
def test_predictions_are_sorted_scored_and_new(model: eras.Model, asked: str) -> None:
    question = {"head": "person0", "relation": "likes", "tail": "person5"}
    del question[asked]
    everything = model.predict(**question, k=1000, exclude_known=False)
    names = model.graph.relations if asked == "relation" else model.graph.entities
    assert sorted(everything[asked]) == names.names.to_list()
    assert everything["score"].is_sorted(descending=True)
    facts = set(TRIPLES)
    new = model.predict(**question, k=1000)
    kept = [row for row in everything.select("head", "relation", "tail").rows() if row not in facts]
    assert new.select("head", "relation", "tail").rows() == kept
    assert model.predict(**question, k=3, output="list") == new.head(3).to_dicts()


def test_tail_predictions_carry_the_score_of_the_triple(model: eras.Model) -> None:
    best = model.predict(head="person3", relation="knows", k=4)
    scores = model.score("person3", "knows", best["tail"].to_list())
    assert scores == pytest.approx(best["score"].to_numpy(), abs=1e-5)
    assert model.score("person3", "knows", best["tail"][0]) == pytest.approx(best["score"][0], abs=1e-5)


def test_many_questions_at_once_are_the_questions_one_by_one(model: eras.Model) -> None:
    heads = ["person1", "person9", "person4"]
    together = model.predict(head=heads, relation="likes", k=2)
    alone = pl.concat([model.predict(head=h, relation="likes", k=2) for h in heads])
    assert together.drop("score").equals(alone.drop("score"))
    assert together["score"].to_numpy() == pytest.approx(alone["score"].to_numpy(), abs=1e-5)


def test_embeddings_by_name(model: eras.Model) -> None:
    row = model.graph.entities.id("city2")
    assert np.array_equal(model.embedding("city2"), model.scorer.entities[row].numpy())
    assert model.embedding("likes", kind="relation").shape == (16,)


def test_wrong_questions(model: eras.Model) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown entity 'persn3'. Did you mean 'person3'"):
        model.predict(head="persn3", relation="likes")
    with pytest.raises(UnknownNameError, match=r"unknown relation 'like'. Did you mean 'likes'"):
        model.predict(head="person3", relation="like")
    with pytest.raises(UsageError, match="give two of head, relation and tail"):
        model.predict(head="person3")
    with pytest.raises(UsageError, match="same length"):
        model.score(["person1", "person2"], ["likes"] * 3, "person1")


def test_labels_are_shown_and_understood(tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("".join(f"person{i}\tPerson Number {i}\n" for i in range(19)) + "city1\tParis\n")
    graph = eras.load_graph(FRAME, labels=labels)
    model = eras.train(graph, "distmult", dim=8, epochs=2, threads=1, out=tmp_path / "run")
    row = eras.Model.load(tmp_path / "run").predict(head="Person Number 3", relation="lives_in", k=100).to_dicts()[0]
    assert (row["head"], row["head_label"]) == ("person3", "Person Number 3")
    assert model.score("Person Number 3", "lives_in", "Paris") == model.score("person3", "lives_in", "city1")


@pytest.mark.parametrize(
    "name", ["weights.safetensors", "config.json", "function.json", "triples.parquet", "metrics.json"]
)
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_damage_is_named(copy: Path, name: str, damage: str) -> None:
    path = copy / name
    content = path.read_bytes()
    path.unlink() if damage == "missing" else path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DamagedError, match=name):
        eras.Model.load(copy)


def test_weights_of_another_model_are_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "dim": 32}))
    with pytest.raises(DamagedError, match=r"weights.safetensors holds \(24, 16\) for entities, expected \(24, 32\)"):
        eras.Model.load(copy)


def test_folders_that_are_no_model(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no model or run folder"):
        eras.Model.load(tmp_path / "nowhere")
    with pytest.raises(OutputError, match=r"no manifest.json"):
        eras.Model.load(tmp_path)
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(FailureError, match=r"format 99.*install a newer eras"):
        eras.Model.load(copy)


def test_an_output_folder_is_not_overwritten_unasked(copy: Path, tmp_path: Path) -> None:
    graph = eras.load_graph(FRAME)
    before = (copy / "weights.safetensors").read_bytes()
    with pytest.raises(OutputError, match=r"exists already.*--overwrite"):
        eras.train(graph, "distmult", out=copy, dim=8, epochs=1)
    assert (copy / "weights.safetensors").read_bytes() == before
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="did not write"):
        eras.train(graph, "distmult", out=precious, overwrite=True, dim=8, epochs=1)
    assert (precious / "thesis.tex").exists()
    eras.train(graph, "distmult", out=copy, overwrite=True, dim=8, epochs=1, threads=1)
    assert eras.Model.load(copy).function.name == "distmult"


def test_a_graph_without_test_triples_trains(tmp_path: Path) -> None:
    graph = eras.load_graph(FRAME, holdout=(0.1, 0.0))
    assert len(graph.test) == 0
    eras.train(graph, "distmult", out=tmp_path / "run", dim=8, epochs=1, threads=1)
    assert set(eras.Model.load(tmp_path / "run").metrics) == {"training", "valid", "calibration"}
