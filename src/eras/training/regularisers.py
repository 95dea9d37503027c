"""Penalties on the factors of a batch: a regulariser sees vectors and how their blocks hang together, never a model.

Each is a sum over the batch's answers (h, r, t), divided by their number; a query with c answers counts c times.

- f2: ‖h‖² + ‖r‖² + ‖t‖²
- n3: Σ |h|³ + |r|³ + |t|³ over moduli. Blocks that a structure couples form one number: under ComplEx the modulus of a
  complex coordinate (Lacroix et al. 2018), under DistMult the absolute value of a real one.
- dura: ½(‖h‖² + ‖t‖²) + 1½(‖q(h, r)‖² + ‖p(t, r)‖²), q and p the tail and head query (Zhang et al. 2020).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from eras.scoring.query import Plan, Segment, query, query_backward
from eras.training.batches import Batch

Coupling = tuple[tuple[int, ...], ...]


@dataclass(eq=False)
class Factors:
    """What a batch is about, and the gradients collected for it.

    entities (n, dim), relations: the tables; asked (B,), answer (T,), relation (B,): rows of them; h, r, q: (B, dim).
    """

    entities: Tensor
    relations: Tensor
    asked: Tensor
    answer: Tensor
    relation: Tensor
    h: Tensor
    r: Tensor
    q: Tensor
    d_entities: Tensor
    d_relations: Tensor
    dq: Tensor


def penalty(name: str, weight: float, factors: Factors, batch: Batch) -> Tensor:
    """weight · the penalty; adds its gradients to `factors`."""
    scale = weight / batch.n_answers
    if name == "f2":
        return _f2(factors, batch, scale)
    if name == "n3":
        return _n3(factors, batch, scale)
    if name == "dura":
        return _dura(factors, batch, scale)
    return factors.h.new_zeros(())


class Rows(NamedTuple):
    """Rows of a table (n,), or None for all of them in order, and how much each weighs, (n, 1).

    f2 and n3 look at single vectors. Where a batch names more of them than the table has, as on small graphs, each row
    of the table is looked at once; elsewhere few are named twice.
    """

    rows: Tensor | None
    weight: Tensor

    @classmethod
    def of(cls, table: Tensor, rows: Tensor, weights: Tensor) -> Rows:
        if len(rows) < len(table):
            return cls(rows, weights.unsqueeze(1))
        return cls(None, torch.bincount(rows, weights, minlength=len(table)).unsqueeze(1))

    def take(self, table: Tensor) -> Tensor:
        return table if self.rows is None else table[self.rows]

    def add(self, table: Tensor, values: Tensor, alpha: float = 1.0) -> None:
        """Add alpha · values to these rows of `table`."""
        if self.rows is None:
            table.add_(values, alpha=alpha)
        else:
            table.index_add_(0, self.rows, values, alpha=alpha)


def _entity_rows(f: Factors, batch: Batch, asked: slice, answers: slice, scale: float) -> Rows:
    """Entities of a stretch of the batch: the one asked about counts for each answer."""
    answer = f.answer[answers]
    weights = torch.cat([batch.counts[asked] * scale, f.h.new_full((len(answer),), scale)])
    return Rows.of(f.entities, torch.cat([f.asked[asked], answer]), weights)


def _relation_rows(f: Factors, batch: Batch, asked: slice, scale: float) -> Rows:
    return Rows.of(f.relations, f.relation[asked], batch.counts[asked] * scale)


def _squares(x: Tensor, dx: Tensor, weight: Tensor | float) -> Tensor:
    """Σ weight · ‖x‖² over the rows of x."""
    weighted = x * weight
    dx.add_(weighted, alpha=2.0)
    return torch.dot(weighted.flatten(), x.flatten())


def _f2(f: Factors, batch: Batch, scale: float) -> Tensor:
    whole = slice(None)
    total = f.h.new_zeros(())
    for table, d_table, rows in (
        (f.entities, f.d_entities, _entity_rows(f, batch, whole, whole, scale)),
        (f.relations, f.d_relations, _relation_rows(f, batch, whole, scale)),
    ):
        x = rows.take(table)
        weighted = x * rows.weight
        total += torch.dot(weighted.flatten(), x.flatten())
        rows.add(d_table, weighted, alpha=2.0)
    return total


def _n3(f: Factors, batch: Batch, scale: float) -> Tensor:
    total = f.h.new_zeros(())
    for (coupled, asked, blocks), (_, answers, _) in zip(
        _alike(batch.segments), _alike(batch.answer_segments), strict=True
    ):
        for table, d_table, rows, coupling in (
            (f.entities, f.d_entities, _entity_rows(f, batch, asked, answers, scale), coupled[0]),
            (f.relations, f.d_relations, _relation_rows(f, batch, asked, scale), coupled[1]),
        ):
            value, gradient = _cubes(rows.take(table), rows.weight, coupling, blocks)
            total += value
            rows.add(d_table, gradient)
    return total


def _alike(segments: Sequence[Segment]) -> Iterator[tuple[tuple[Coupling, Coupling], slice, int]]:
    """Runs of segments whose structures couple the same blocks: (couplings, rows, number of blocks)."""
    for coupled, run in groupby(segments, key=lambda s: couplings(s.plan)):
        first, *rest = run
        yield coupled, slice(first.start, (rest or [first])[-1].stop), first.plan.blocks


def _cubes(x: Tensor, weight: Tensor, coupling: Coupling, blocks: int) -> tuple[Tensor, Tensor]:
    """Σ weight · modulus³, a modulus for each coordinate of each set of coupled blocks; and its gradient."""
    dx = torch.empty_like(x)
    xs, dxs = x.chunk(blocks, 1), dx.chunk(blocks, 1)
    total = x.new_zeros(())
    for together in coupling:
        square = xs[together[0]].square()
        for b in together[1:]:
            square.addcmul_(xs[b], xs[b])
        slope = square.sqrt().mul_(3.0 * weight)
        total += torch.dot(slope.flatten(), square.flatten())
        for b in together:
            torch.mul(slope, xs[b], out=dxs[b])
    return total / 3.0, dx


@lru_cache(maxsize=4096)
def couplings(plan: Plan) -> tuple[Coupling, Coupling]:
    """The entity blocks and the relation blocks, each parted into sets that the structure's terms connect."""
    parent = list(range(2 * plan.blocks))

    def root(node: int) -> int:
        while parent[node] != node:
            node = parent[node]
        return node

    for i, k, j, _ in plan.to_tail:
        for other in (j, plan.blocks + k):
            parent[root(other)] = root(i)
    sets: dict[int, list[int]] = {}
    for node in range(2 * plan.blocks):
        sets.setdefault(root(node), []).append(node)
    entity = [tuple(b for b in s if b < plan.blocks) for s in sets.values()]
    relation = [tuple(b - plan.blocks for b in s if b >= plan.blocks) for s in sets.values()]
    return tuple(s for s in entity if s), tuple(s for s in relation if s)


def _dura(f: Factors, batch: Batch, scale: float) -> Tensor:
    weight = (batch.counts * scale).unsqueeze(1)
    t, r = f.entities[f.answer], f.r[batch.answer_row]
    reverse = list(_reversed(batch.answer_segments))
    p = query(t, r, reverse)
    dh, dp = torch.zeros_like(f.h), torch.zeros_like(p)
    total = _squares(f.h, dh, 0.5 * weight) + _squares(f.q, f.dq, 1.5 * weight) + _squares(p, dp, 1.5 * scale)
    dt, dr = query_backward(t, r, dp, reverse)
    total += _squares(t, dt, 0.5 * scale)
    f.d_entities.index_add_(0, f.answer, dt)
    f.d_entities.index_add_(0, f.asked, dh)
    f.d_relations.index_add_(0, f.relation[batch.answer_row], dr)
    return total


def _reversed(segments: Iterable[Segment]) -> Iterable[Segment]:
    """The same rows under the transposed structures."""
    return (Segment(s.plan.transposed(), s.start, s.stop) for s in segments)
