"""Batches of merged queries, in an order that depends on the seed and the epoch alone.

Nothing here keeps state: the order of epoch e is a function of (seed, e), so a resumed run sees the same batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eras.graph.queries import TAIL, Ints, Queries
from eras.models import BlockBilinear
from eras.scoring.query import Segment

_ROUND = 64
"""The number of candidates is a multiple of this part of the sample."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What B questions ask for: answer[i], a place among n candidates, answers question row[i].

    row, answer: (T,), rows ascending; counts: (B,), answers of each question; log_weight: (n, 1), the logarithm of how
    many entities each candidate stands for, or None where each stands for itself alone, as answers always do.
    """

    row: Tensor
    answer: Tensor
    counts: Tensor
    log_weight: Tensor | None = None

    def part(self, start: int, stop: int) -> Asked:
        """What the questions from `start` to before `stop` ask for."""
        if (start, stop) == (0, len(self.counts)):
            return self
        first, last = torch.searchsorted(self.row, torch.tensor([start, stop], device=self.row.device)).tolist()
        return Asked(self.row[first:last] - start, self.answer[first:last], self.counts[start:stop], self.log_weight)


@dataclass(frozen=True, eq=False)
class Batch:
    """B queries with T answers, sorted by side and structure.

    entity, relation, counts: (B,); answer_row, answer_entity: (T,), rows ascending. The first `n_tail_answers`
    answers belong to tail questions, the others to head questions.
    """

    entity: Tensor
    relation: Tensor
    counts: Tensor
    segments: tuple[Segment, ...]
    answer_row: Tensor
    answer_entity: Tensor
    answer_segments: tuple[Segment, ...]
    n_tail_answers: int

    @property
    def n_answers(self) -> int:
        return len(self.answer_row)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The entities that a step compares: those wanted, such as the answers of its batch, and a sample of the others.

    entity: (n,), each once; position: (T,), where in it each of the wanted is; log_weight: (n, 1), how many entities
    each stands for: one that was wanted for itself, one of the sample for its share of all others. So the sum under the
    logarithm of the loss is right on average.
    """

    entity: Tensor
    position: Tensor
    log_weight: Tensor


def sample_candidates(wanted: Tensor, n_entities: int, size: int, rng: np.random.Generator) -> Candidates:
    """The entities `wanted` (T,), each once, and `size` random ones less those.

    A few of the sample are dropped again, such that the number of candidates is round. Steps whose numbers are alike
    use the same kernels for their products, and making a kernel takes a millisecond.
    """
    certain, position = np.unique(wanted.cpu().numpy(), return_inverse=True)
    drawn = np.setdiff1d(rng.integers(n_entities, size=size), certain)
    surplus = (len(certain) + len(drawn)) % max(1, size // _ROUND)
    if surplus < len(drawn):
        drawn = np.delete(drawn, rng.choice(len(drawn), surplus, replace=False))
    entity = np.concatenate([certain, drawn])
    weight = np.zeros((len(entity), 1), dtype=np.float32)
    if len(drawn):
        weight[len(certain) :] = np.log((n_entities - len(certain)) / len(drawn))
    return Candidates(*(torch.from_numpy(x).to(wanted.device) for x in (entity, position.ravel(), weight)))


def candidate_rng(seed: int, epoch: int, step: int) -> np.random.Generator:
    """What draws the candidates of a step."""
    return np.random.default_rng([seed, epoch, step])


def epoch_order(n_queries: int, seed: int, epoch: int) -> Ints:
    return np.random.default_rng([seed, epoch]).permutation(n_queries)


def make_batch(model: BlockBilinear, queries: Queries, picked: Ints) -> Batch:
    """The queries at positions `picked`, with all of their answers, on the model's device."""
    arranged = model.arrange(queries.entity[picked], queries.relation[picked], queries.side[picked])
    picked = picked[arranged.order]
    answers = queries.answers_of(picked)
    counts = queries.counts[picked]
    stops = np.cumsum(counts)
    return Batch(
        arranged.entity,
        arranged.relation,
        torch.from_numpy(counts.astype(np.float32)).to(model.device),
        arranged.segments,
        torch.from_numpy(answers.row).to(model.device),
        torch.from_numpy(answers.entity).to(model.device),
        tuple(
            Segment(s.plan, int(stops[s.start - 1]) if s.start else 0, int(stops[s.stop - 1]))
            for s in arranged.segments
        ),
        int(counts[queries.side[picked] == TAIL].sum()),
    )
