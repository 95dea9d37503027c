"""Filtered ranks: one product, one mask and one count for each block of queries.

Every answer of a query is ranked among all entities, less the other known answers of that query. Ties span a range:
`low` is the rank if the answer wins them all, `high` if it loses them all. Metrics are functions of this table alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import polars as pl
import torch
from torch import Tensor

from eras.errors import DivergedError
from eras.graph.queries import TAIL, Answers, Ints, Queries

MOST_QUERIES = 1024
"""Queries ranked at a time, at most: enough for a fast product, few enough to stay near the cache."""

SLICE = 512
"""Entities compared at a time."""


class Ranker(Protocol):
    """What ranking asks of a model: the scores of all entities under B questions, (n_entities, B), ours to change."""

    @property
    def n_entities(self) -> int: ...

    def scores(self, entity: Ints, relation: Ints, side: Ints) -> Tensor: ...


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
    lows, highs, candidates = [], [], []
    for start in range(0, len(asked), block):
        picked = np.arange(start, min(start + block, len(asked)))
        entity, relation, side = asked.entity[picked], asked.relation[picked], asked.side[picked]
        answers = asked.answers_of(picked)
        others = known.answers_of(known.find(entity, relation, side))
        scores = model.scores(entity, relation, side)
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
    low, high = torch.empty_like(row), torch.empty_like(row)
    # The first answer of every query is compared with the scores as they lie; further ones need a copy of the column.
    first = np.ones(len(answers.row), dtype=bool)
    first[1:] = answers.row[1:] != answers.row[:-1]
    further = np.flatnonzero(~first)
    parts = [further[i : i + scores.shape[1]] for i in range(0, len(further), scores.shape[1])]
    for number, positions in enumerate([np.flatnonzero(first), *parts]):
        these = torch.from_numpy(positions).to(device)
        columns = scores if number == 0 else scores[:, row[these]]
        above, level_or_above = _beaten_by(columns, own[these])
        low[these], high[these] = above + 1, level_or_above + 1
    return low.cpu().numpy(), high.cpu().numpy()


def _beaten_by(columns: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """How many scores of each column are above `own`, and how many at least level with it.

    Comparisons go into a small array of numbers, slice by slice: adding up numbers is several times faster than
    counting truth values, and the slices stay in cache. The sums are exact, far below 2²⁴ in each slice.
    """
    above, level_or_above = torch.zeros_like(own, dtype=torch.int64), torch.zeros_like(own, dtype=torch.int64)
    room = columns.new_empty(min(SLICE, len(columns)), columns.shape[1])
    for start in range(0, len(columns), SLICE):
        part = columns[start : start + SLICE]
        result = room[: len(part)]
        above += torch.gt(part, own, out=result).sum(0).long()
        level_or_above += torch.ge(part, own, out=result).sum(0).long()
    return above, level_or_above


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
