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
Ints = npt.NDArray[np.int64]

MOST = 4096
"""Questions that are watched: enough for three parameters and fifteen bins."""

LARGEST = 50.0
"""Log odds beyond this say no more."""


def signs_of(scores: Tensor) -> Doubles:
    """(B, 2) for scores (n_entities, B), −∞ where a candidate is left out: the log odds of the first by softmax, and
    its lead over the second."""
    return _first_and_signs(scores)[1]


def _first_and_signs(scores: Tensor) -> tuple[Ints, Doubles]:
    best, at = scores.topk(min(2, len(scores)), dim=0)
    scores.scatter_(0, at[:1], -torch.inf)
    rest = torch.logsumexp(scores, 0)
    scores.scatter_(0, at[:1], best[:1])
    signs = torch.stack([best[0].double() - rest.double(), best[0].double() - best[-1].double()], 1)
    return at[0].cpu().numpy(), signs.nan_to_num(0.0).clamp(-LARGEST, LARGEST).cpu().numpy()


def watch(model: Ranker, asked: Queries, known: Queries, memory_mb: int) -> tuple[Doubles, Bools]:
    """Signs of questions of `asked`, at most `MOST`, and whether the first of each list is one of its answers.

    All that `known` holds is left out of the lists, but for the answers themselves.
    """
    block = queries_at_a_time(model.n_entities, memory_mb)
    chosen = np.linspace(0, len(asked) - 1, min(len(asked), MOST)).astype(np.int64)
    signs, right = [], []
    for start in range(0, len(chosen), block):
        picked = chosen[start : start + block]
        entity, relation, side = asked.entity[picked], asked.relation[picked], asked.side[picked]
        scores = model.scores(entity, relation, side)
        answers = asked.answers_of(picked)
        places = tuple(torch.from_numpy(part) for part in (answers.entity, answers.row))
        own = scores[places]
        others = known.answers_of(known.find(entity, relation, side))
        scores[torch.from_numpy(others.entity), torch.from_numpy(others.row)] = -torch.inf
        scores[places] = own
        first, of_block = _first_and_signs(scores)
        hit = np.zeros(len(picked), dtype=bool)
        hit[answers.row[first[answers.row] == answers.entity]] = True
        signs.append(of_block)
        right.append(hit)
    return np.concatenate(signs), np.concatenate(right)
