"""The log-loss of queries that are only judged, not trained on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from eras.evaluation.ranking import MOST_QUERIES, Ranker
from eras.graph.queries import Queries


def answer_losses(model: Ranker, asked: Queries, *, memory_mb: int = 512) -> npt.NDArray[np.float64]:
    """(A,): −log softmax(scores)[answer] of every answer of `asked`, all entities candidates, nothing filtered."""
    entities = model.entities
    block = max(1, min(MOST_QUERIES, (memory_mb << 20) // (2 * 4 * len(entities))))
    parts = []
    for start in range(0, len(asked), block):
        picked = np.arange(start, min(start + block, len(asked)))
        q = model.queries(asked.entity[picked], asked.relation[picked], asked.side[picked])
        scores = entities @ q.t()
        answers = asked.answers_of(picked)
        row = torch.from_numpy(answers.row).to(q.device)
        own = scores[torch.from_numpy(answers.entity).to(q.device), row]
        parts.append((scores.logsumexp(0)[row] - own).double().cpu().numpy())
    return np.concatenate(parts)
