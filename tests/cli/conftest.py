from __future__ import annotations

from pathlib import Path

import pytest

from eras.graph.planted import Plan, plant, write_planted


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "planted"
    write_planted(plant(Plan(entities=60, triples_per_relation=60), 0), folder)
    return folder
