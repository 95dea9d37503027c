"""Training: objective, regularisers, optimiser, loop and checkpoints."""

from eras.training.config import TrainConfig, read_settings
from eras.training.defaults import recommend
from eras.training.loop import Report, Trainer

__all__ = ["Report", "TrainConfig", "Trainer", "read_settings", "recommend"]
