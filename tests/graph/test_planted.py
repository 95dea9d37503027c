from __future__ import annotations

from pathlib import Path

import pytest

from command import eras, eras_json
from eras.errors import OutputError, SettingError
from eras.graph import load_graph, relation_patterns
from eras.graph.planted import Plan, plant, write_planted


@pytest.mark.parametrize("seed", range(5))
def test_the_planted_patterns_are_those_that_are_found(seed: int) -> None:
    planted = plant(Plan(compositions=1), seed)
    found = relation_patterns(planted.graph.facts, len(planted.graph.relations))
    names = planted.graph.relations.names.to_list()
    verdicts = dict(zip(names, found["pattern"], strict=True))
    # A general relation may by chance hold no pair in both directions; every other pattern is planted exactly.
    for name, pattern in planted.patterns.items():
        assert verdicts[name] == pattern or pattern == "general", name
    assert len(names) == 14


def test_the_seed_decides_and_noise_disturbs() -> None:
    assert plant(Plan(), 3).graph.fingerprint == plant(Plan(), 3).graph.fingerprint
    assert plant(Plan(), 3).graph.fingerprint != plant(Plan(), 4).graph.fingerprint
    noisy = plant(Plan(noise=0.3), 0)
    table = relation_patterns(noisy.graph.facts, len(noisy.graph.relations))
    symmetric = noisy.graph.relations.id("symmetric_1")
    assert table["symmetry"][symmetric] < 0.8


def test_large_graphs_are_sampled() -> None:
    planted = plant(Plan(entities=20_000, triples_per_relation=5_000, symmetric=1, anti_symmetric=1, general=1), 0)
    assert sum(map(len, (planted.graph.train, planted.graph.valid, planted.graph.test))) > 20_000


def test_impossible_plans() -> None:
    with pytest.raises(SettingError, match="at least one relation"):
        plant(Plan(symmetric=0, anti_symmetric=0, inverse_pairs=0, general=0))
    with pytest.raises(SettingError, match="compositions are made of general"):
        plant(Plan(general=0, compositions=1))
    with pytest.raises(SettingError, match="too few"):
        plant(Plan(entities=20))


def test_generate_writes_a_graph_that_reads_back(tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    printed = eras_json("data", "generate", "--out", folder, "--seed", "2")
    assert load_graph(folder).fingerprint == plant(Plan(), 2).graph.fingerprint
    truth = dict(line.split("\t") for line in (folder / "patterns.tsv").read_text().splitlines())
    assert truth == printed["patterns"]
    assert "exists already" in eras("data", "generate", "--out", folder, code=2).stderr
    with pytest.raises(OutputError):
        write_planted(plant(Plan(), 2), folder)
