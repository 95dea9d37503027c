"""Filtered ranks: one product, one mask and one count for each block of queries.

Every answer of a query is ranked among all entities, less the other known answers of that query. Ties span a range:
`low` is the rank if the answer wins them all, `high` if it loses them all. Metrics are functions of this table alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl
import torch
from torch import Tensor

from eras.errors import DivergedError
from eras.graph.queries import TAIL, Answers, Ints, Queries

MOST_QUERIES = 2048
"""Queries ranked at a time, at most: enough for a fast product, few enough to stay near the cache."""

SLICE = 256
"""Entities compared at a time."""


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
    # The first answer of every query is compared with the scores as they lie; further ones need a copy of the column.
    first = np.ones(len(answers.row), dtype=bool)
    first[1:] = answers.row[1:] != answers.row[:-1]
    order = torch.from_numpy(np.argsort(~first, kind="stable")).to(device)
    above, level_or_above = _beaten_by(scores, row[order], own[order])
    low, high = torch.empty_like(row), torch.empty_like(row)
    low[order], high[order] = above + 1, level_or_above + 1
    return low.cpu().numpy(), high.cpu().numpy()


def _beaten_by(scores: Tensor, row: Tensor, own: Tensor) -> Sequence[Tensor]:
    """How many scores of column row[i] are above own[i], and how many at least level; the first rows are 0, 1, 2 …

    Comparisons go into a small array of numbers, slice by slice: adding up numbers is several times faster than
    counting truth values, and the slices stay in cache. The sums are exact, far below 2²⁴ in each slice.
    """
    starts, queries = range(0, len(scores), SLICE), scores.shape[1]
    sums = scores.new_empty(2, len(starts), len(own))
    room = scores.new_empty(min(SLICE, len(scores)) * queries)
    for start, above, level_or_above in zip(starts, *sums, strict=True):
        part = scores[start : start + SLICE]
        for first in range(0, len(own), queries):
            these = slice(first, first + queries)
            columns = part.index_select(1, row[these]) if first else part
            result = room[: columns.numel()].view(columns.shape)
            torch.sum(torch.gt(columns, own[these], out=result), 0, out=above[these])
            torch.sum(torch.ge(columns, own[these], out=result), 0, out=level_or_above[these])
    return sums.sum(1, dtype=torch.int64).unbind()


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
