"""The log-loss of queries that are only judged, not trained on."""

from __future__ import annotations

import numpy as np
import torch

from eras.evaluation.ranking import MOST_QUERIES, Ranker
from eras.graph.queries import Queries


def mean_loss(model: Ranker, asked: Queries, *, memory_mb: int = 512) -> float:
    """The mean over all answers of −log softmax(scores)[answer], every entity a candidate, nothing filtered."""
    entities = model.entities
    block = max(1, min(MOST_QUERIES, (memory_mb << 20) // (2 * 4 * len(entities))))
    total = 0.0
    for start in range(0, len(asked), block):
        picked = np.arange(start, min(start + block, len(asked)))
        q = model.queries(asked.entity[picked], asked.relation[picked], asked.side[picked])
        scores = entities @ q.t()
        answers = asked.answers_of(picked)
        own = scores[torch.from_numpy(answers.entity).to(q.device), torch.from_numpy(answers.row).to(q.device)]
        counts = torch.from_numpy(asked.counts[picked]).to(q.device)
        total += float((counts * scores.logsumexp(0)).sum() - own.sum())
    return total / len(asked.answers)
