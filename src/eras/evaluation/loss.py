"""The log-loss of queries that are only judged, not trained on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from eras.evaluation.ranking import Ranker, queries_at_a_time
from eras.graph.queries import Queries


def answer_losses(model: Ranker, asked: Queries, *, memory_mb: int = 512) -> npt.NDArray[np.float64]:
    """(A,): −log softmax(scores)[answer] of every answer of `asked`, all entities candidates, nothing filtered."""
    block = queries_at_a_time(model.n_entities, memory_mb)
    parts = []
    for start in range(0, len(asked), block):
        picked = np.arange(start, min(start + block, len(asked)))
        scores = model.scores(asked.entity[picked], asked.relation[picked], asked.side[picked])
        answers = asked.answers_of(picked)
        row = torch.from_numpy(answers.row).to(scores.device)
        own = scores[torch.from_numpy(answers.entity).to(scores.device), row]
        parts.append((scores.logsumexp(0)[row] - own).double().cpu().numpy())
    return np.concatenate(parts)
