"""Filtered ranks: one product, one mask and one count for each block of queries.

Every answer of a query is ranked among all entities, less the other known answers of that query. Ties span a range:
`low` is the rank if the answer wins them all, `high` if it loses them all. Metrics are functions of this table alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl
import torch
from torch import Tensor

from eras.errors import DivergedError
from eras.graph.queries import TAIL, Answers, Ints, Queries

MOST_QUERIES = 2048
"""Queries ranked at a time, at most: enough for a fast product, few enough to stay near the cache."""

SLICE = 512
"""Entities compared at a time."""

FAR = 1024
"""What a score above counts, where one below counts 1: more than a slice has."""

BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


class Ranker(Protocol):
    """What ranking asks of a model: the scores of all entities under B questions, (n_entities, B), ours to change."""

    @property
    def n_entities(self) -> int: ...

    def scores(self, entity: Ints, relation: Ints, side: Ints) -> Tensor: ...


@runtime_checkable
class RoomyRanker(Ranker, Protocol):
    """A ranker that can write its scores where others were, which spares the system from handing out fresh memory."""

    def scores_into(self, out: Tensor, entity: Ints, relation: Ints, side: Ints) -> Tensor: ...


def rank(
    model: Ranker,
    asked: Queries,
    known: Queries,
    *,
    memory_mb: int = 512,
    on_progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """A row for each answer of `asked`: head, relation, tail, side, low, high, candidates.

    `known` holds every answer to leave out (those of `asked` included); score blocks stay below `memory_mb`.
    """
    block = queries_at_a_time(model.n_entities, memory_mb)
    room: Tensor | None = None
    lows, highs, candidates = [], [], []
    for start in range(0, len(asked), block):
        picked = np.arange(start, min(start + block, len(asked)))
        entity, relation, side = asked.entity[picked], asked.relation[picked], asked.side[picked]
        answers = asked.answers_of(picked)
        others = known.answers_of(known.find(entity, relation, side))
        if room is not None and isinstance(model, RoomyRanker):
            out = room[: model.n_entities * len(picked)].view(model.n_entities, len(picked))
            scores = model.scores_into(out, entity, relation, side)
        else:
            scores = model.scores(entity, relation, side)
            room = scores.view(-1) if isinstance(model, RoomyRanker) else None
        low, high = _count(scores, answers, others)
        lows.append(low)
        highs.append(high)
        excluded = np.bincount(others.row, minlength=len(picked))
        candidates.append((model.n_entities - excluded + 1)[answers.row])
        if on_progress:
            on_progress(int(picked[-1]) + 1, len(asked))
    return _table(asked, np.concatenate(lows), np.concatenate(highs), np.concatenate(candidates))


def queries_at_a_time(n_entities: int, memory_mb: int) -> int:
    """As many as leave room for their scores, and for as much again while they are computed or selected from."""
    return max(1, min(MOST_QUERIES, (memory_mb << 20) // (2 * 4 * n_entities)))


def _count(scores: Tensor, answers: Answers, others: Answers) -> tuple[Ints, Ints]:
    """Ranks (low, high) of each answer in scores (n_entities, queries), which is overwritten."""
    device = scores.device
    row, entity = torch.from_numpy(answers.row).to(device), torch.from_numpy(answers.entity).to(device)
    own = scores[entity, row]
    if not torch.isfinite(own).all():
        raise DivergedError(
            "the model's scores are not finite: it cannot be ranked (was it trained with too high a lr?)"
        )
    scores[torch.from_numpy(others.entity).to(device), torch.from_numpy(others.row).to(device)] = -torch.inf
    # The first answer of every query comes first.
    later = np.zeros(len(answers.row), dtype=bool)
    later[1:] = answers.row[1:] == answers.row[:-1]
    order = torch.from_numpy(np.argsort(later, kind="stable")).to(device)
    above, below = _compare(scores, row[order], own[order])
    low, high = torch.empty_like(row), torch.empty_like(row)
    low[order], high[order] = above + 1, len(scores) - below + 1
    return low.cpu().numpy(), high.cpu().numpy()


def _compare(scores: Tensor, row: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """How many scores of column row[i] are above own[i], and how many below; the first rows are 0, 1, 2 …

    So the first answers meet the scores as they lie. Further ones meet copies of their columns, laid out as rows, which
    are copied faster. All goes slice by slice, which stay in cache.
    """
    starts, queries = range(0, len(scores), SLICE), scores.shape[1]
    several, which = torch.unique_consecutive(row[queries:], return_inverse=True)
    own = own + 0.0  # no −0: minus 0 it would be −0, whose bits are those of a negative number
    sums = torch.empty(len(starts), len(own), dtype=BITS[own.dtype], device=own.device)
    room = scores.new_empty(min(SLICE, len(scores)) * queries)
    for start, total in zip(starts, sums, strict=True):
        part = scores[start : start + SLICE]
        _tally(own[:queries], part, 0, room, total[:queries])
        columns = part.t().index_select(0, several)
        for first in range(queries, len(own), queries):
            these = slice(first, first + queries)
            copies = columns.index_select(0, which[first - queries : first])
            _tally(own[these, None], copies, 1, room, total[these])
    return -(sums // FAR).sum(0), (sums % FAR).sum(0)


def _tally(own: Tensor, scores: Tensor, dim: int, room: Tensor, out: Tensor) -> None:
    """Into `out`: −FAR for each score above its own, and 1 for each below; one sum for both, as few are added up.

    A difference, its bits read as an integer, has the sign that it has as a number, and is 0 where that is 0.
    """
    gap = torch.sub(own, scores, out=room[: scores.numel()].view(scores.shape))
    torch.sum(gap.view(out.dtype).clamp_(-FAR, 1), dim, dtype=out.dtype, out=out)


def _table(asked: Queries, low: Ints, high: Ints, candidates: Ints) -> pl.DataFrame:
    query = np.repeat(np.arange(len(asked)), asked.counts)
    entity, relation, side = asked.entity[query], asked.relation[query], asked.side[query]
    return pl.DataFrame(
        {
            "head": np.where(side == TAIL, entity, asked.answers),
            "relation": relation,
            "tail": np.where(side == TAIL, asked.answers, entity),
            "side": np.where(side == TAIL, "tail", "head"),
            "low": low,
            "high": high,
            "candidates": candidates,
        }
    )
