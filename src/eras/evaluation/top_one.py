"""What a ranked list says about its own first entry."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.evaluation.ranking import Ranker, queries_at_a_time
from eras.graph.queries import Queries

Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LARGEST = 50.0
"""Log odds beyond this say no more."""


def signs_of(scores: Tensor) -> Doubles:
    """(B, 2) for scores (n_entities, B), −∞ where a candidate is left out: the log odds of the first by softmax, and
    its lead over the second."""
    best = scores.topk(min(2, len(scores)), dim=0).values.double()
    rest = torch.logsumexp(scores.double(), 0) - best[0]  # log of 1 / softmax of the first, at least 0
    odds = -torch.log(torch.expm1(rest))
    signs = torch.stack([odds, best[0] - best[-1]], 1)
    found: Doubles = signs.nan_to_num(0.0, LARGEST, -LARGEST).clamp(-LARGEST, LARGEST).cpu().numpy()
    return found


def watch(model: Ranker, asked: Queries, known: Queries, memory_mb: int) -> tuple[Doubles, Bools]:
    """Signs of each question of `asked`, and whether the first of its list is one of its answers.

    All that `known` holds is left out of the lists, but for the answers themselves.
    """
    block = queries_at_a_time(model.n_entities, memory_mb)
    signs, right = [], []
    for start in range(0, len(asked), block):
        picked = np.arange(start, min(start + block, len(asked)))
        entity, relation, side = asked.entity[picked], asked.relation[picked], asked.side[picked]
        scores = model.scores(entity, relation, side)
        answers = asked.answers_of(picked)
        places = tuple(torch.from_numpy(part) for part in (answers.entity, answers.row))
        own = scores[places]
        others = known.answers_of(known.find(entity, relation, side))
        scores[torch.from_numpy(others.entity), torch.from_numpy(others.row)] = -torch.inf
        scores[places] = own
        first = scores.argmax(0).cpu().numpy()
        signs.append(signs_of(scores))
        hit = np.zeros(len(picked), dtype=bool)
        hit[answers.row[first[answers.row] == answers.entity]] = True
        right.append(hit)
    return np.concatenate(signs), np.concatenate(right)
