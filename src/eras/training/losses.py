"""Losses over a block of scores, for models whose gradients come from autograd.

Each takes scores (n, B) of n candidates under B questions and gives the sum over the questions' answers. Candidates are
all entities, or the answers of a batch with a sample of the others, each standing for exp(log_weight) entities.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from eras.training.batches import Asked
from eras.training.config import TrainConfig


def softmax(scores: Tensor, asked: Asked, config: TrainConfig) -> Tensor:
    """Log-loss of each answer among all candidates."""
    weighted = scores if asked.log_weight is None else scores + asked.log_weight
    return (asked.counts * weighted.logsumexp(0)).sum() - scores[asked.answer, asked.row].sum()


def binary(scores: Tensor, asked: Asked, config: TrainConfig) -> Tensor:
    """Log-loss of "is an answer" for every candidate on its own; labels smoothed towards 1/n (Dettmers et al. 2018).

    A label y costs softplus(score) − y · score, so the labels, nearly all alike, need no table.
    """
    smoothing = config.label_smoothing
    even = softplus(scores) - scores / len(scores) if smoothing else softplus(scores)
    if asked.log_weight is not None:
        even = even * asked.log_weight.exp()
    return even.sum() - (1 - smoothing) * scores[asked.answer, asked.row].sum()


def self_adversarial(scores: Tensor, asked: Asked, config: TrainConfig) -> Tensor:
    """Answers above −margin, others below it, the hard ones first (Sun et al. 2019)."""
    answers = -logsigmoid(config.margin + scores[asked.answer, asked.row]).sum()
    with torch.no_grad():
        hardness = config.temperature * scores
        if asked.log_weight is not None:
            hardness += asked.log_weight
        hardness[asked.answer, asked.row] = -torch.inf
        weight = hardness.softmax(0).nan_to_num_()  # a question that everything answers has no others
    others = -(weight * logsigmoid(-scores - config.margin)).sum(0)
    return (answers + (asked.counts * others).sum()) / 2


def margin(scores: Tensor, asked: Asked, config: TrainConfig) -> Tensor:
    """Each answer above each other candidate by a margin; the mean over those others (Bordes et al. 2013)."""
    others = (
        torch.ones_like(scores) if asked.log_weight is None else asked.log_weight.exp().expand(scores.shape).clone()
    )
    others[asked.answer, asked.row] = 0.0
    others = others / others.sum(0).clamp(min=1.0)
    own = scores[asked.answer, asked.row]
    total = scores.new_zeros(())
    for part in torch.split(torch.arange(len(own), device=own.device), scores.shape[1]):
        columns = asked.row[part]
        total = total + (others[:, columns] * (config.margin - own[part] + scores[:, columns]).relu()).sum()
    return total


LOSSES: dict[str, Callable[[Tensor, Asked, TrainConfig], Tensor]] = {
    "softmax": softmax,
    "binary": binary,
    "self-adversarial": self_adversarial,
    "margin": margin,
}
