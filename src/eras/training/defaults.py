"""Settings for a graph nobody has seen, from its size and its shape."""

from __future__ import annotations

from eras.graph import TrainingView
from eras.training.config import TrainConfig


def recommend(view: TrainingView, blocks: int) -> TrainConfig:
    dim = 256 - 256 % blocks
    return TrainConfig(dim=dim)
