"""Losses against their definitions, and steps that depend on nothing but parameters, seed and place."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import eras
from eras.errors import SettingError
from eras.graph.planted import Plan, plant
from eras.graph.queries import Queries
from eras.models import ARCHITECTURES, EmbeddingModel, build_model, to_function
from eras.training import TrainConfig
from eras.training.autograd import AutogradStepper
from eras.training.batches import Asked
from eras.training.losses import LOSSES
from eras.training.recipes import RECIPES

GRAPH = plant(Plan(entities=60, triples_per_relation=40), 0).graph


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def by_definition(name: str, s: list[float], answers: set[int], weight: list[float], config: TrainConfig) -> float:
    """The loss of one question, candidate by candidate."""
    others = [i for i in range(len(s)) if i not in answers]
    if name == "softmax":
        total = sum(w * math.exp(x) for w, x in zip(weight, s, strict=True))
        return sum(-math.log(math.exp(s[a]) / total) for a in answers)
    if name == "binary":
        loss = 0.0
        for i, x in enumerate(s):
            y = (1 - config.label_smoothing) * (i in answers) + (1 / len(s) if config.label_smoothing else 0.0)
            loss -= weight[i] * (y * math.log(sigmoid(x)) + (1 - y) * math.log(1 - sigmoid(x)))
        return loss
    if name == "margin":
        mass = sum(weight[i] for i in others)
        return sum(weight[i] * max(0.0, config.margin - s[a] + s[i]) / mass for a in answers for i in others)
    hard = [weight[i] * math.exp(config.temperature * s[i]) for i in others]
    negative = sum(-h / sum(hard) * math.log(sigmoid(-s[i] - config.margin)) for h, i in zip(hard, others, strict=True))
    return sum(-math.log(sigmoid(config.margin + s[a])) + negative for a in answers) / 2


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("sampled", [False, True])
def test_losses_follow_their_definitions(name: str, sampled: bool) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(9, 3))
    answers = [{0, 4}, {2}, {1, 2, 3}]
    weight = np.ones(9)
    if sampled:  # what answers any question of a batch stands for itself
        weight[5:] = np.exp(rng.normal(size=4))
    row = torch.tensor([r for r, wanted in enumerate(answers) for _ in wanted])
    answer = torch.tensor([a for wanted in answers for a in sorted(wanted)])
    counts = torch.tensor([float(len(wanted)) for wanted in answers])
    log_weight = torch.from_numpy(np.log(weight))[:, None] if sampled else None
    for config in (
        TrainConfig(margin=1.5, temperature=0.5, label_smoothing=0.2),
        TrainConfig(margin=0.3, temperature=0.0),
    ):
        found = LOSSES[name](torch.from_numpy(scores), Asked(row, answer, counts, log_weight), config)
        expected = sum(
            by_definition(name, scores[:, q].tolist(), wanted, weight.tolist(), config)
            for q, wanted in enumerate(answers)
        )
        assert found.item() == pytest.approx(expected)


def stepper(name: str, **settings: object) -> AutogradStepper:
    view = GRAPH.training_view()
    config = TrainConfig(dim=16, batch_size=50, init="xavier").updated(**settings)
    names = view.relations.names.to_list()
    model = build_model(to_function(name), names, len(view.entities), config.dim, reciprocal=True)
    assert isinstance(model, EmbeddingModel)
    model.initialise(0, config.init, config.init_scale)
    return AutogradStepper(model, Queries.of(view.train, len(view.entities), len(names)), config)


@pytest.mark.parametrize("negatives", [0, 20])
@pytest.mark.parametrize(
    "settings", [{"loss": "softmax"}, {"loss": "binary"}, {"loss": "binary", "label_smoothing": 0.1}]
)
@pytest.mark.parametrize("name", ["quate", "tucker", "conve:channels=4"])
def test_a_loss_over_products_has_the_gradients_of_autograd(
    name: str, settings: dict[str, object], negatives: int
) -> None:
    """Such models share the hand-written losses; dropout and batch norm lie before them."""
    by_hand, by_autograd = (stepper(name, **settings, negatives=negatives, memory_mb=1) for _ in range(2))
    by_autograd.model.__class__ = type("Compared", (type(by_autograd.model),), {"metric": None})
    losses = [one.gradients(np.arange(40), 0, 0)[0] for one in (by_hand, by_autograd)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for mine, reference in zip(by_hand.model.parameters(), by_autograd.model.parameters(), strict=True):
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad, reference.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_under_the_memory_budget_change_nothing(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = []
    for blocks in (6, 1 << 12):  # the second leaves room for two questions at a time
        monkeypatch.setattr("eras.training.autograd.BLOCKS", blocks)
        one = stepper("ntn", loss=loss, memory_mb=1)
        *losses, _ = one.gradients(np.arange(20), 0, 0)
        gradients.append((losses, [p.grad.clone() for p in one.model.parameters() if p.grad is not None]))
    (first, a), (second, b) = gradients
    assert first == pytest.approx(second, rel=1e-5)
    for x, y in zip(a, b, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-6)


def test_all_candidates_as_a_sample_are_all_candidates() -> None:
    """More are drawn than there are entities but one, so that hardly any is missing: the same loss, nearly."""
    every, sampled = stepper("transe"), stepper("transe", negatives=59)
    whole = every.gradients(np.arange(50), 0, 0)[0]
    part = np.mean([sampled.gradients(np.arange(50), 0, step)[0] for step in range(20)])
    assert part == pytest.approx(whole, rel=0.05)


def test_the_penalty_is_a_sum_over_triples() -> None:
    one = stepper("rescal", regulariser="n3", reg_weight=0.5)
    picked = np.arange(30)
    penalty = one.gradients(picked, 0, 0)[1]
    asked, model = one.queries, one.model
    answers, total = asked.answers_of(picked), 0.0
    for row, answer in zip(answers.row, answers.entity, strict=True):
        relation = asked.relation[row] + model.n_relations * asked.side[row]
        factors = model.entities[asked.entity[row]], model.relations[relation], model.entities[answer]
        total += sum(float(f.detach().abs().pow(3).sum()) for f in factors)
    assert penalty == pytest.approx(0.5 * total / len(answers.row), rel=1e-4)


@pytest.mark.parametrize("name", ["tucker", "conve:channels=4", "hyper:channels=4"])
def test_a_batch_with_a_single_question_is_no_trouble_for_batch_norm(name: str) -> None:
    one = stepper(name)
    for picked in ([0], [0, len(one.queries) - 1]):  # a tail question alone, and one of each side
        assert all(np.isfinite(one.gradients(np.array(picked), 0, 0)[:2]))


def test_every_model_has_a_recipe() -> None:
    assert set(RECIPES) == set(ARCHITECTURES)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_model_is_trained_saved_and_read(name: str, tmp_path: Path) -> None:
    spec = {"conve": "conve:channels=4", "hyper": "hyper:channels=4"}.get(name, name)
    model = eras.train(GRAPH, spec, dim=16, epochs=2, out=tmp_path / "run", threads=1)
    again = eras.Model.load(tmp_path / "run")
    entities = GRAPH.entities.names.to_list()
    asked = {"head": entities[0], "relation": GRAPH.relations.names[0]}
    assert model.predict(**asked).equals(again.predict(**asked))
    assert model.score(**asked, tail=entities[:5]) == pytest.approx(again.score(**asked, tail=entities[:5]))
    assert again.function == to_function(tmp_path / "run" / "function.json")
    assert len(again.predict(head=entities[0], tail=entities[1], exclude_known=False)) == 10
    assert again.embedding(entities[0]).shape == (16,)
    assert again.function.title in (tmp_path / "run" / "README.md").read_text()


@pytest.mark.parametrize("name", ["conve:channels=4", "transh"])
def test_a_run_that_was_stopped_ends_in_the_same_bits(name: str, tmp_path: Path) -> None:
    """Dropout, batch norm and Adam included."""
    settings = {"dim": 16, "epochs": 3, "batch_size": 64, "threads": 1, "validate_every": 1}
    whole = eras.train(GRAPH, name, out=tmp_path / "whole", **settings)

    def stop(report: eras.training.Report) -> None:
        if (report.epoch, report.step) == (2, 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        eras.train(GRAPH, name, out=tmp_path / "part", checkpoint_seconds=0, on_step=stop, **settings)
    resumed = eras.resume(tmp_path / "part")
    for key, table in whole.scorer.tables.items():
        assert torch.equal(table, resumed.scorer.tables[key]), key


def test_settings_that_a_model_cannot_use() -> None:
    with pytest.raises(SettingError, match="loss margin"):
        eras.train(GRAPH, "complex", loss="margin")
    with pytest.raises(SettingError, match="dura"):
        eras.train(GRAPH, "rotate", regulariser="dura")
    with pytest.raises(SettingError, match="relation_weight"):
        eras.train(GRAPH, "rotate", relation_weight=0.1)
