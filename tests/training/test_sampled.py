"""Epochs on sampled candidates, and the last ones, which compare all entities."""

from __future__ import annotations

from pathlib import Path

import torch

from eras.files import Journal
from eras.graph.planted import Plan, plant
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import named
from eras.training import TrainConfig, Trainer
from eras.training.stepper import BlockStepper

VIEW = plant(Plan(entities=60, triples_per_relation=40), 0).graph.training_view()
CONFIG = TrainConfig(dim=8, epochs=6, batch_size=16, negatives=5, full_epochs=2, patience=1, init_scale=0.1)


def stepper(config: TrainConfig) -> BlockStepper:
    names = VIEW.relations.names.to_list()
    model = BlockBilinear(named("complex"), names, len(VIEW.entities), config.dim, reciprocal=True)
    model.initialise(0, config.init, config.init_scale)
    return BlockStepper(model, Queries.of(VIEW.train, len(VIEW.entities), len(names)), config)


def test_a_sampled_step_moves_the_rows_of_its_candidates_only() -> None:
    sampled = stepper(CONFIG)
    before = sampled.model.entities.clone()
    sampled.step(0, 0)
    moved = (sampled.model.entities != before).any(1)
    assert 0 < int(moved.sum()) < len(moved)
    sampled.step(4, 0)
    assert (sampled.model.entities != before).any(1).all()


def test_full_epochs_take_the_steps_that_training_without_sampling_takes() -> None:
    one, other = stepper(CONFIG), stepper(CONFIG.updated(negatives=0, full_epochs=0))
    assert one.step(4, 0) == other.step(4, 0)
    assert torch.equal(one.model.entities, other.model.entities)


def test_full_epochs_come_even_if_the_sampled_ones_end_early(tmp_path: Path) -> None:
    seen = iter([0.5, 0.4, 0.6, 0.7])
    Trainer(VIEW, named("complex"), CONFIG, tmp_path, lambda model: next(seen)).run()
    epochs = [event["epoch"] for event in Journal(tmp_path / "journal.jsonl").events("epoch")]
    assert epochs == [1, 2, 5, 6]
