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

import torch
from torch import Tensor

from eras.scoring.query import Plan, Segment, query, query_backward
from eras.training.batches import Batch

Coupling = tuple[tuple[int, ...], ...]


@dataclass(eq=False)
class Factors:
    """The vectors of a batch and the gradients collected for them: h, r, q (B, dim), t (T, dim)."""

    h: Tensor
    r: Tensor
    q: Tensor
    t: Tensor
    dh: Tensor
    dr: Tensor
    dq: Tensor
    dt: Tensor


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


def _squares(x: Tensor, dx: Tensor, weight: Tensor | float) -> Tensor:
    """Σ weight · ‖x‖² over the rows of x."""
    weighted = x * weight
    dx.add_(weighted, alpha=2.0)
    return torch.dot(weighted.flatten(), x.flatten())


def _f2(f: Factors, batch: Batch, scale: float) -> Tensor:
    weight = (batch.counts * scale).unsqueeze(1)
    return _squares(f.h, f.dh, weight) + _squares(f.r, f.dr, weight) + _squares(f.t, f.dt, scale)


def _n3(f: Factors, batch: Batch, scale: float) -> Tensor:
    weight = (batch.counts * scale).unsqueeze(1)
    total = f.h.new_zeros(())
    for (entity_blocks, relation_blocks), rows, blocks in _alike(batch.segments):
        total += _cubes(f.h[rows], f.dh[rows], weight[rows], entity_blocks, blocks)
        total += _cubes(f.r[rows], f.dr[rows], weight[rows], relation_blocks, blocks)
    for (entity_blocks, _), rows, blocks in _alike(batch.answer_segments):
        total += _cubes(f.t[rows], f.dt[rows], scale, entity_blocks, blocks)
    return total


def _alike(segments: Sequence[Segment]) -> Iterator[tuple[tuple[Coupling, Coupling], slice, int]]:
    """Runs of segments whose structures couple the same blocks: (couplings, rows, number of blocks)."""
    for coupled, run in groupby(segments, key=lambda s: couplings(s.plan)):
        first, *rest = run
        yield coupled, slice(first.start, (rest or [first])[-1].stop), first.plan.blocks


def _cubes(x: Tensor, dx: Tensor, weight: Tensor | float, coupling: Coupling, blocks: int) -> Tensor:
    """Σ weight · modulus³, a modulus for each coordinate of each set of coupled blocks."""
    xs, dxs = x.chunk(blocks, 1), dx.chunk(blocks, 1)
    total = x.new_zeros(())
    for together in coupling:
        square = xs[together[0]].square()
        for b in together[1:]:
            square.addcmul_(xs[b], xs[b])
        modulus = square.sqrt()
        weighted = modulus * weight
        total += (weighted * square).sum()
        for b in together:
            dxs[b].addcmul_(weighted, xs[b], value=3.0)
    return total


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
    r = f.r[batch.answer_row]
    reverse = list(_reversed(batch.answer_segments))
    p = query(f.t, r, reverse)
    total = _squares(f.h, f.dh, 0.5 * weight) + _squares(f.t, f.dt, 0.5 * scale)
    total += _squares(f.q, f.dq, 1.5 * weight)
    dp = torch.zeros_like(p)
    total += _squares(p, dp, 1.5 * scale)
    dt, dr = query_backward(f.t, r, dp, reverse)
    f.dt.add_(dt)
    f.dr.index_add_(0, batch.answer_row, dr)
    return total


def _reversed(segments: Iterable[Segment]) -> Iterable[Segment]:
    """The same rows under the transposed structures."""
    return (Segment(s.plan.transposed(), s.start, s.stop) for s in segments)
