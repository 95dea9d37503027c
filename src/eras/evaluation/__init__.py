"""Honest judging: filtered ranks in one table, and metrics that are pure functions of it."""

from eras.evaluation.contrast import contrast
from eras.evaluation.loss import answer_losses
from eras.evaluation.metrics import METRICS, breakdown, metrics
from eras.evaluation.protocol import Evaluation, evaluate
from eras.evaluation.ranking import rank
from eras.evaluation.selection import Selection

__all__ = [
    "METRICS",
    "Evaluation",
    "Selection",
    "answer_losses",
    "breakdown",
    "contrast",
    "evaluate",
    "metrics",
    "rank",
]
