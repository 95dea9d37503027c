"""Honest judging: filtered ranks in one table, and metrics that are pure functions of it."""

from eras.evaluation.loss import mean_loss
from eras.evaluation.metrics import METRICS, breakdown, metrics
from eras.evaluation.protocol import Evaluation, evaluate, validator
from eras.evaluation.ranking import rank

__all__ = ["METRICS", "Evaluation", "breakdown", "evaluate", "mean_loss", "metrics", "rank", "validator"]
