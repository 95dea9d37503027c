"""A block structure as arithmetic: one contraction serves queries, their gradients and relation scores.

The score Σ ±⟨h_i, r_k, t_j⟩ is linear in each of h, r and t. Leaving one of them out gives the vector that the third
is multiplied with:

    leave out t:  q_j = Σ ± h_i ∘ r_k      the tail query, score = q · t
    leave out h:  p_i = Σ ± t_j ∘ r_k      the head query (the tail query of the transposed structure)
    leave out r:  s_k = Σ ± h_i ∘ t_j      the relation query

and the gradient of each with respect to its inputs is again one of these, with the incoming gradient in the place of
the vector that was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from eras.scoring.structure import Structure

Cells = tuple[tuple[int, int, int, float], ...]
"""(block of x, block of y, block of the result, sign), one for each non-zero cell."""


MANY_SEGMENTS = 8
"""Above this many structures in a batch, as in a supernet's, one product over all M³ coefficients is faster than the
few terms of each structure in turn."""


@dataclass(frozen=True)
class Plan:
    """A structure's cells, ready for `contract` in each of the three directions."""

    blocks: int
    to_tail: Cells  # (head, relation) -> tail
    to_head: Cells  # (tail, relation) -> head
    to_relation: Cells  # (head, tail) -> relation

    @classmethod
    def of(cls, structure: Structure) -> Plan:
        return _plan(structure.cells)


@lru_cache(maxsize=4096)
def _plan(cells: tuple[tuple[int, ...], ...]) -> Plan:
    """Keyed by the literal matrix: equal structures are merely equivalent."""
    terms = [(i, j, k, float(s)) for i, j, k, s in Structure(cells).terms]
    return Plan(
        len(cells),
        tuple((i, k, j, s) for i, j, k, s in terms),
        tuple((j, k, i, s) for i, j, k, s in terms),
        tuple((i, j, k, s) for i, j, k, s in terms),
    )


def contract(x: Tensor, y: Tensor, cells: Cells, blocks: int, out: Tensor | None = None) -> Tensor:
    """Add Σ ± x_a ∘ y_b to block c of `out` (zeros if not given), for each cell (a, b, c, ±).

    x, y, out: (rows, dim), each row cut into `blocks` equal parts.
    """
    if out is None:
        out = torch.zeros_like(x)
    xs, ys, width = x.chunk(blocks, 1), y.chunk(blocks, 1), out.shape[1] // blocks
    for a, b, c, sign in cells:
        out.narrow(1, c * width, width).addcmul_(xs[a], ys[b], value=sign)
    return out


@dataclass(frozen=True)
class Segment:
    """Rows start … stop of a batch, all scored by the same plan."""

    plan: Plan
    start: int
    stop: int

    def of(self, x: Tensor) -> Tensor:
        return x[self.start : self.stop]


def query(h: Tensor, r: Tensor, segments: Sequence[Segment]) -> Tensor:
    """q (rows, dim) with score = q · t, where each segment of rows has its own structure."""
    if len(segments) > MANY_SEGMENTS:
        return torch.bmm(_coefficients(segments, h), _products(h, r, segments[0].plan.blocks)).view_as(h)
    q = torch.zeros_like(h)
    for s in segments:
        contract(s.of(h), s.of(r), s.plan.to_tail, s.plan.blocks, s.of(q))
    return q


def query_backward(h: Tensor, r: Tensor, dq: Tensor, segments: Sequence[Segment]) -> tuple[Tensor, Tensor]:
    """The gradients of a loss with respect to h and r, given its gradient with respect to q."""
    if len(segments) > MANY_SEGMENTS:
        M = segments[0].plan.blocks
        hs, rs = h.view(len(h), M, 1, -1), r.view(len(h), 1, M, -1)
        products = torch.bmm(_coefficients(segments, h).transpose(1, 2), dq.view(len(h), M, -1))
        products = products.view(len(h), M, M, -1)
        return (products * rs).sum(2).view_as(h), (products * hs).sum(1).view_as(r)
    dh, dr = torch.zeros_like(h), torch.zeros_like(r)
    for s in segments:
        contract(s.of(dq), s.of(r), s.plan.to_head, s.plan.blocks, s.of(dh))
        contract(s.of(h), s.of(dq), s.plan.to_relation, s.plan.blocks, s.of(dr))
    return dh, dr


def _products(h: Tensor, r: Tensor, blocks: int) -> Tensor:
    """(rows, M², width): h_i ∘ r_k for all i and k."""
    rows = len(h)
    return (h.view(rows, blocks, 1, -1) * r.view(rows, 1, blocks, -1)).view(rows, blocks**2, -1)


def _coefficients(segments: Sequence[Segment], like: Tensor) -> Tensor:
    """(rows, M, M²): how much of each h_i ∘ r_k goes into each q_j, row by row."""
    lengths = torch.tensor([s.stop - s.start for s in segments])
    stacked = torch.stack([_coefficients_of(s.plan) for s in segments])
    return stacked.repeat_interleave(lengths, 0).to(like.device, like.dtype)


@lru_cache(maxsize=4096)
def _coefficients_of(plan: Plan) -> Tensor:
    coefficients = torch.zeros(plan.blocks, plan.blocks, plan.blocks)
    for i, k, j, sign in plan.to_tail:
        coefficients[j, i, k] = sign
    return coefficients.flatten(1)
