from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eras.errors import DataError, SettingError
from eras.graph import TrainingView, Vocabulary, load_graph
from eras.training import TrainConfig, read_settings, recommend


def test_unknown_keys_get_a_suggestion_and_bad_values_are_named() -> None:
    with pytest.raises(SettingError, match="unknown setting 'batchsize': did you mean 'batch_size'"):
        TrainConfig().updated(batchsize=3)
    with pytest.raises(SettingError, match=r"setting dropout = 1.5"):
        TrainConfig().updated(dropout=1.5)
    with pytest.raises(SettingError, match="setting optimiser = 'lion'"):
        TrainConfig().updated(optimiser="lion")


def test_every_setting_is_explained() -> None:
    for name, field in TrainConfig.model_fields.items():
        assert field.description, name
        assert field.description.endswith((".", "…")), name


def test_settings_files(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("dim = 8\n[train]\nlr = 0.5\n")
    assert read_settings(path) == {"dim": 8, "lr": 0.5}
    path.write_text("dim = \n")
    with pytest.raises(DataError, match=r"settings\.toml is not valid TOML"):
        read_settings(path)


def view_of(n_entities: int, n_triples: int) -> TrainingView:
    rng = np.random.default_rng(0)
    triples = np.stack([rng.integers(n, size=n_triples) for n in (n_entities, 3, n_entities)], 1).astype(np.int32)
    entities = Vocabulary("entity", pl.Series(sorted(f"e{i}" for i in range(n_entities))))
    return TrainingView("random", entities, Vocabulary("relation", pl.Series(["a", "b", "c"])), triples, triples[:5])


def test_recommended_settings_follow_the_graph() -> None:
    small, large = recommend(view_of(100, 3000), 3), recommend(view_of(100_000, 300_000), 4)
    assert small.dim % 3 == 0
    assert small.epochs > large.epochs
    assert small.batch_size < large.batch_size
    assert small.reg_weight < recommend(view_of(1000, 2000), 1).reg_weight


def test_candidates_are_sampled_where_all_would_be_too_many() -> None:
    large, huge = view_of(100_000, 300_000), view_of(1_000_000, 3_000_000)
    assert not recommend(view_of(100, 3000), 2).negatives
    sampled = recommend(large, 2)
    assert sampled.negatives
    assert 0 < sampled.full_epochs < sampled.epochs
    assert not recommend(large, 2, negatives=0).full_epochs
    assert recommend(large, 2, negatives=0).dim < sampled.dim
    assert recommend(huge, 2).negatives
    assert not recommend(huge, 2).full_epochs  # one of them would take hours


def test_recipes_of_models_follow_the_graph() -> None:
    """What is no product is compared with a sample on a large graph, to the end; what was given stands."""
    small, large = view_of(100, 3000), view_of(10_000, 30_000)
    assert not recommend(small, 1, "transe").negatives
    sampled = recommend(large, 1, "transe")
    assert 0 < sampled.negatives < 10_000
    assert not sampled.full_epochs
    assert not recommend(large, 1, "transe", negatives=0).negatives
    assert not recommend(large, 1, "rotate").negatives
    assert recommend(small, 1, "tucker").batch_size < recommend(large, 1, "tucker").batch_size


def test_training_cannot_reach_the_test_split() -> None:
    view = load_graph("umls").training_view()
    assert not hasattr(view, "test")
    assert len(view.train) == 5216
    assert len(view.valid) == 652
