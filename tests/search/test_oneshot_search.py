from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from eras.errors import StoppedError
from eras.files import Journal
from eras.graph.planted import Plan, plant
from eras.scoring import ScoringFunction
from eras.search import oneshot
from eras.search.config import METHODS, SearchConfig, method_config
from eras.search.oneshot import OneShotSearch
from eras.search.start import hand_designed
from eras.training import TrainConfig

VIEW = plant(Plan(entities=60, triples_per_relation=80), 0).graph.training_view()
SETTINGS = {
    "blocks": 3, "epochs": 3, "functions": 4, "policy_steps": 3, "reward_batch": 64, "derive": 10, "finalists": 0,
    "trial_epochs": 1, "training": TrainConfig(dim=12, batch_size=64, reg_weight=0.01, threads=1),
}  # fmt: skip
ONE_SHOT = [name for name, method in METHODS.items() if method.settings["estimator"] == "one-shot"]


def config_of(method: str, **more: object) -> SearchConfig:
    return method_config(method, **{**SETTINGS, **more})


@pytest.mark.parametrize("method", ONE_SHOT)
def test_every_method_ends_with_a_function_and_a_journal_that_tells_how(method: str, tmp_path: Path) -> None:
    config = config_of(method)
    found = OneShotSearch(VIEW, config, tmp_path).run()
    assert set(found.function.groups) == set(VIEW.relations.names)
    assert all(s.uses_every_relation_block for s in found.function.structures)
    assert len(found.function.structures) == config.groups
    journal = Journal(tmp_path / "search.jsonl")
    assert [e["epoch"] for e in journal.events("epoch")] == [1, 2, 3]
    steps = journal.events("policy")
    assert len(steps) == config.epochs * config.policy_steps
    assert all(r == 0 for e in steps for r, f in zip(e["rewards"], e["functions"], strict=True) if f is None)
    assert journal.events("derived")[0]["rewards"][0] == found.reward


@pytest.mark.parametrize("method", ["eras", "eras-dif", "policy-oneshot", "evolution-oneshot"])
def test_a_search_that_was_cut_off_goes_on_to_the_same_bits(method: str, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    whole = OneShotSearch(VIEW, config_of(method), tmp_path / "whole")
    expected = whole.run()
    for _ in range(2):
        with pytest.raises(StoppedError):
            OneShotSearch(VIEW, config_of(method), tmp_path / "cut").run(should_stop=lambda: True)
    resumed = OneShotSearch(VIEW, config_of(method), tmp_path / "cut")
    found = resumed.run()
    assert torch.equal(resumed.supernet.entities, whole.supernet.entities)
    assert np.array_equal(resumed.supernet.groups, whole.supernet.groups)
    assert found.reward == expected.reward
    assert [s.cells for s in found.function.structures] == [s.cells for s in expected.function.structures]


def test_groups_that_are_fixed_stay_and_the_others_move(tmp_path: Path) -> None:
    moved = {}
    for grouping in ("pattern", "pretrained", "em"):
        folder = tmp_path / grouping
        folder.mkdir()
        settings = {**METHODS["evolution-oneshot"].settings, **SETTINGS, "grouping": grouping}
        OneShotSearch(VIEW, SearchConfig(**settings), folder).run()
        moved[grouping] = sum(e["moved"] for e in Journal(folder / "search.jsonl").events("epoch"))
    assert moved["pattern"] == moved["pretrained"] == 0
    assert moved["em"] > 0


def test_a_group_keeps_its_number_when_clusters_come_back_under_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = OneShotSearch(VIEW, config_of("eras"), tmp_path)
    before = search.supernet.groups.copy()
    monkeypatch.setattr(oneshot, "by_embedding", lambda *_: np.array([2, 0, 1])[before])
    assert search._regroup() == 0
    assert np.array_equal(search.supernet.groups, before)


def test_by_reward_a_relation_goes_to_the_structure_that_ranks_it_best(tmp_path: Path) -> None:
    search = OneShotSearch(VIEW, config_of("evolution-oneshot", grouping="reward"), tmp_path)
    asked = search.last_judge.draw(None, np.random.default_rng(0))
    search.supernet.initialise(0, "normal", 1.0)
    earned = np.stack([search.last_judge.by_relation(s, asked) for s in search.favourite]) * len(asked.answers)
    gain = earned.max(0) - earned[search.supernet.groups, np.arange(earned.shape[1])]
    counts = np.bincount(np.repeat(asked.relation, asked.counts), minlength=earned.shape[1])
    clear = gain > 0.3 * np.sqrt(counts)
    assert search._regroup() == clear.sum()
    assert (search.supernet.groups == earned.argmax(0))[clear].all()


def test_the_differentiable_variant_is_judged_as_it_was_trained(tmp_path: Path) -> None:
    search = OneShotSearch(VIEW, config_of("eras-dif"), tmp_path)
    heaviest = search._heaviest(np.random.default_rng(0))
    (first, *_) = search._decode(search.strategy.sample(3), constrained=False)
    assert [s.cells for s in first or ()] == [s.cells for s in heaviest]


def test_fair_sampling_trains_every_operation(tmp_path: Path) -> None:
    search = OneShotSearch(VIEW, config_of("eras", sampling="fair", anchored=False), tmp_path)
    played = search.pool(5)
    cells = np.array([[s.cells for s in candidate] for step in played for candidate in step])
    counts = [(np.abs(cells) == k).sum() for k in range(4)]
    assert counts[1] == counts[2] == counts[3] == 2 * counts[0]


@pytest.mark.parametrize("rivals", [True, False])
def test_the_finals_train_the_best_samples_beside_their_rivals(rivals: bool, tmp_path: Path) -> None:
    config = config_of("eras", finalists=2, promotions=2, most_epochs=9, rivals=rivals)
    found = OneShotSearch(VIEW, config, tmp_path, workers=1).run()
    trials = Journal(tmp_path / "search.jsonl").events("trial")
    assert [e["epochs"] for e in trials].count(9) == 2 + 1
    assert found.reward == pytest.approx((trials[-1]["mrr"] + max(e["mrr"] for e in trials[-3:-1])) / 2)
    entered = [ScoringFunction.from_json(e["function"]) for e in trials if e["epochs"] == 1]
    assert (ScoringFunction([hand_designed(3)["distmult"]]) in entered) == rivals
