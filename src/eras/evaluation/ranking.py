"""Filtered ranks: one product, one mask and one count for each block of queries.

Every answer of a query is ranked among all entities, less the other known answers of that query. Ties span a range:
`low` is the rank if the answer wins them all, `high` if it loses them all. Metrics are functions of this table alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl
import torch
from torch import Tensor

from eras.errors import DivergedError, UsageError
from eras.graph.queries import TAIL, Answers, Ints, Queries
from eras.models.cache import column_sums

MOST_QUERIES = 1000
"""Queries ranked at a time, at most: enough for a fast product, with little fresh memory.

No power of two: the scores of one query are a row apart, and a cache has few places for what lies 2ⁿ apart.
"""

SLICE = 1024
"""Entities compared at a time: their scores stay in cache."""

FAR = 2048
"""What a score above counts, where one below counts 1: more than a slice has."""

MANY = 32
"""With more answers than that, sorting the scores of a query is faster than comparing them with each."""

SORTED_AT_ONCE = 64
"""Queries whose scores are copied and sorted at a time: few, as memory is bounded."""

_WORTH_LOADING = 1 << 28
"""Scores that take about as much longer to count without numba as it takes to load."""

BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


Counter = Callable[[Tensor, int, Tensor, list[int]], tuple[Ints, Ints]]
"""As `counting.count`."""


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
    block, roomy = queries_at_a_time(model.n_entities, memory_mb), model if isinstance(model, RoomyRanker) else None
    room: Tensor | None = None
    counter = _counter(model.n_entities * len(asked))
    low, high, candidates = (np.empty(len(asked.answers), dtype=np.int64) for _ in range(3))
    order = np.argsort(-asked.counts, kind="stable")  # alike many answers are compared at once
    for start in range(0, len(order), block):
        picked = order[start : start + block]
        entity, relation, side = asked.entity[picked], asked.relation[picked], asked.side[picked]
        row, place = asked.places_of(picked)
        others = known.answers_of(known.find(entity, relation, side))
        if room is not None and roomy is not None:
            out = room[: model.n_entities * len(picked)].view(model.n_entities, len(picked))
            scores = roomy.scores_into(out, entity, relation, side)
        else:
            scores = model.scores(entity, relation, side)
            room = scores.view(-1) if roomy is not None else None
        low[place], high[place] = _count(scores, Answers(row, asked.answers[place]), others, counter)
        excluded = np.bincount(others.row, minlength=len(picked))
        candidates[place] = (model.n_entities - excluded + 1)[row]
        if on_progress:
            on_progress(start + len(picked), len(asked))
    return _table(asked, low, high, candidates)


def queries_at_a_time(n_entities: int, memory_mb: int) -> int:
    """As many as leave room for their scores, and for as much again while they are computed or selected from."""
    return max(1, min(MOST_QUERIES, (memory_mb << 20) // (2 * 4 * n_entities)))


def _count(scores: Tensor, answers: Answers, others: Answers, counter: Counter) -> tuple[Ints, Ints]:
    """Ranks (low, high) of each answer in scores (n_entities, queries), which is overwritten.

    The queries with most answers come first.
    """
    device = scores.device
    own = scores[torch.from_numpy(answers.entity).to(device), torch.from_numpy(answers.row).to(device)]
    if not torch.isfinite(own).all():
        raise DivergedError(
            "the model's scores are not finite: it cannot be ranked (was it trained with too high a lr?)"
        )
    scores[torch.from_numpy(others.entity).to(device), torch.from_numpy(others.row).to(device)] = -torch.inf
    counts = np.bincount(answers.row)
    queries = int((counts > MANY).sum())
    theirs = int(counts[:queries].sum())
    low, high = np.empty_like(answers.row), np.empty_like(answers.row)
    low[:theirs], high[:theirs] = _look_up(scores[:, :queries], own[:theirs], counts[:queries])
    low[theirs:], high[theirs:] = _compare(scores, queries, own[theirs:], counts[queries:], counter)
    return low, high


def _look_up(scores: Tensor, own: Tensor, counts: Ints) -> tuple[Ints, Ints]:
    """Ranks among columns of scores that are sorted first; column i has the next counts[i] of `own`."""
    low, high = np.empty(len(own), dtype=np.int64), np.empty(len(own), dtype=np.int64)
    ends, own_scores = np.cumsum(counts), own.cpu().numpy()
    for first in range(0, len(counts), SORTED_AT_ONCE):
        some = slice(first, first + SORTED_AT_ONCE)
        columns = scores[:, some].contiguous().t().contiguous().cpu().numpy()  # in two steps, which is faster than one
        columns.sort(axis=1)
        for column, start, end in zip(columns, (ends - counts)[some], ends[some], strict=True):
            mine = own_scores[start:end]
            low[start:end] = 1 + len(column) - np.searchsorted(column, mine, side="right")
            high[start:end] = 1 + len(column) - np.searchsorted(column, mine, side="left")
    return low, high


def _compare(scores: Tensor, column: int, own: Tensor, counts: Ints, counter: Counter) -> tuple[Ints, Ints]:
    """Ranks among columns of scores as they lie; the i-th from `column` on has the next counts[i] of `own`.

    Counts do not rise: first answers meet all columns, second answers the first columns, which have several, and so
    on, so nothing is copied.
    """
    nth = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
    order, widths = np.argsort(nth, kind="stable"), np.bincount(nth).tolist()
    own = own[torch.from_numpy(order).to(own.device)]
    above, level = counter(scores, column, own, widths)
    low, high = np.empty_like(order), np.empty_like(order)
    low[order], high[order] = 1 + above, 1 + level
    return low, high


def _counter(n_scores: int) -> Counter:
    """By machine code where numba is installed, and is loaded or worth it."""
    if "numba" in sys.modules or n_scores >= _WORTH_LOADING:
        try:
            from eras.evaluation.counting import count
        except UsageError:  # numba is an extra
            return _count_by_passes
        return lambda scores, *more: (count if _is_plain(scores) else _count_by_passes)(scores, *more)
    return _count_by_passes


def _is_plain(scores: Tensor) -> bool:
    return scores.device.type == "cpu" and scores.is_contiguous()


def _count_by_passes(scores: Tensor, column: int, own: Tensor, widths: list[int]) -> tuple[Ints, Ints]:
    """As `counting.count`, by PyTorch.

    The sign of a difference says which is above: its bits, read as an integer, have the same sign, and are 0 where it
    is 0. One sum counts both signs, −FAR for a score above and 1 for a score below.
    """
    scores, own = scores[:, column:], own + 0.0  # no −0: minus 0 it would be −0, which has a sign bit
    starts, bits = range(0, len(scores), SLICE)[::-1], BITS[own.dtype]  # what was scored last may still be in cache
    sums = torch.empty(len(starts), len(own), dtype=bits, device=own.device)
    room = scores.new_empty(min(SLICE, len(scores)) * scores.shape[1])
    for start, total in zip(starts, sums, strict=True):
        part = scores[start : start + SLICE]
        for mine, out in zip(own.split_with_sizes(widths), total.split_with_sizes(widths), strict=True):
            near = part[:, : len(mine)]
            gap = torch.sub(mine, near, out=room[: near.numel()].view(near.shape))
            out.copy_(column_sums(gap.view(bits).clamp_(-FAR, 1), bits))
    above, below = -(sums // FAR).sum(0), (sums % FAR).sum(0)
    return above.cpu().numpy(), len(scores) - below.cpu().numpy()


def _table(asked: Queries, low: Ints, high: Ints, candidates: Ints) -> pl.DataFrame:
    query = np.repeat(np.arange(len(asked)), asked.counts)
    entity, relation, side = asked.entity[query], asked.relation[query], asked.side[query]
    return pl.DataFrame(
        {
            "head": np.where(side == TAIL, entity, asked.answers),
            "relation": relation,
            "tail": np.where(side == TAIL, asked.answers, entity),
            "side": pl.Series(["tail", "head"]).gather(side),
            "low": low,
            "high": high,
            "candidates": candidates,
        }
    )
