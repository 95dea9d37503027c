from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from eras.errors import DamagedError, SettingError
from eras.files import Journal
from eras.graph.planted import Plan, plant
from eras.search.config import SearchConfig
from eras.search.loop import ErasSearch
from eras.training import TrainConfig

VIEW = plant(Plan(entities=60, triples_per_relation=80), 0).graph.training_view()
CONFIG = SearchConfig(
    blocks=3, groups=3, epochs=4, functions=4, policy_steps=3, reward_batch=64, derive=10,
    supernet=TrainConfig(dim=12, batch_size=64, reg_weight=0.01, threads=1),
)  # fmt: skip


def test_a_search_ends_with_a_function_and_a_journal_that_tells_how(tmp_path: Path) -> None:
    found = ErasSearch(VIEW, CONFIG, tmp_path).run()
    assert set(found.function.groups) == set(VIEW.relations.names)
    assert all(s.uses_every_relation_block for s in found.function.structures)
    journal = Journal(tmp_path / "search.jsonl")
    assert [e["epoch"] for e in journal.events("epoch")] == [1, 2, 3, 4]
    steps = journal.events("policy")
    assert len(steps) == CONFIG.epochs * CONFIG.policy_steps
    assert all(len(e["rewards"]) == len(e["functions"]) == CONFIG.functions for e in steps)
    assert all(r == 0 for e in steps for r, f in zip(e["rewards"], e["functions"], strict=True) if f is None)
    assert journal.events("derived")[0]["reward"] == found.reward


def test_a_search_that_was_cut_off_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    whole = ErasSearch(VIEW, CONFIG, tmp_path / "whole")
    expected = whole.run()

    class CutError(Exception):
        pass

    def cut(epoch: int) -> None:
        if epoch in (1, 3):
            raise CutError

    for _ in range(2):
        with pytest.raises(CutError):
            ErasSearch(VIEW, CONFIG, tmp_path / "cut").run(cut)
    resumed = ErasSearch(VIEW, CONFIG, tmp_path / "cut")
    found = resumed.run()
    assert torch.equal(resumed.supernet.entities, whole.supernet.entities)
    assert np.array_equal(resumed.supernet.groups, whole.supernet.groups)
    assert found.reward == expected.reward
    assert [s.cells for s in found.function.structures] == [s.cells for s in expected.function.structures]


def test_what_cannot_be_searched(tmp_path: Path) -> None:
    small = plant(Plan(entities=60, triples_per_relation=80, symmetric=1, anti_symmetric=1, inverse_pairs=0), 0)
    with pytest.raises(SettingError, match="8 groups for 5 relations"):
        ErasSearch(small.graph.training_view(), CONFIG.model_copy(update={"groups": 8}), tmp_path)
    ErasSearch(VIEW, CONFIG.model_copy(update={"epochs": 1}), tmp_path).run()
    with pytest.raises(DamagedError, match="other settings"):
        ErasSearch(VIEW, CONFIG, tmp_path)
