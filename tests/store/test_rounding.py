"""Models whose tables are written as bfloat16."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import eras
from eras.graph.planted import Plan, plant


@pytest.mark.parametrize("spec", ["complex", "conve:channels=2"])
def test_what_was_judged_is_what_is_stored(spec: str, tmp_path: Path) -> None:
    graph = plant(Plan(entities=60, triples_per_relation=60), 0).graph
    settings = {"dim": 64, "epochs": 2, "threads": 1}
    sizes = {}
    for storage in ("float32", "bfloat16"):
        model = eras.train(graph, spec, out=tmp_path / storage, storage=storage, **settings)
        sizes[storage] = (tmp_path / storage / "weights.safetensors").stat().st_size
    assert 0.45 < sizes["bfloat16"] / sizes["float32"] < 0.6

    stored = load_file(tmp_path / "bfloat16" / "weights.safetensors")
    loaded = eras.Model.load(tmp_path / "bfloat16")
    counted = ("running_mean", "running_var", "num_batches_tracked")
    for name, table in loaded.scorer.tables.items():
        assert (stored[name].dtype == torch.bfloat16) != name.endswith(counted), name
        assert table.dtype == model.scorer.tables[name].dtype != torch.bfloat16
        assert torch.equal(table, model.scorer.tables[name])
    assert not torch.equal(
        loaded.scorer.tables["entities"], eras.Model.load(tmp_path / "float32").scorer.tables["entities"]
    )
    for split in ("valid", "test"):
        reported, again = loaded.metrics[split], loaded.evaluate(split).to_json()
        assert {key: again[key] for key in ("mrr", "mr", "hits@10")} == {
            key: reported[key] for key in ("mrr", "mr", "hits@10")
        }
    if model.calibrated is not None:  # ConvE has learned too little in two epochs
        assert loaded.calibrate().of_facts.slope == pytest.approx(model.calibrated.of_facts.slope)


def test_a_model_that_grew_is_stored_as_it_is(tmp_path: Path) -> None:
    graph = plant(Plan(entities=60, triples_per_relation=60), 0).graph
    model = eras.train(graph, "distmult", dim=8, epochs=1, threads=1, storage="bfloat16")
    names, relation = graph.entities.names, graph.relations.name(0)
    model.add_entity("new", [("new", relation, names[0])])
    eras.save_model(model, tmp_path / "grown")
    loaded = eras.Model.load(tmp_path / "grown")
    assert torch.equal(loaded.scorer.tables["entities"], model.scorer.tables["entities"])
