"""Honest judging: filtered ranks in one table, and metrics that are pure functions of it."""

from eras.evaluation.loss import answer_losses
from eras.evaluation.metrics import METRICS, breakdown, metrics
from eras.evaluation.protocol import Evaluation, evaluate, validator
from eras.evaluation.ranking import rank

__all__ = ["METRICS", "Evaluation", "answer_losses", "breakdown", "evaluate", "metrics", "rank", "validator"]
