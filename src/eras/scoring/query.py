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

import numpy as np
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
        return cls._of_terms(structure.blocks, [(i, j, k, float(s)) for i, j, k, s in structure.terms])

    def transposed(self) -> Plan:
        """The plan of the transposed structure: head and tail change places."""
        return self._of_terms(self.blocks, sorted((j, i, k, s) for i, j, k, s in self.to_relation))

    @classmethod
    def _of_terms(cls, blocks: int, terms: Sequence[tuple[int, int, int, float]]) -> Plan:
        """From (head block, tail block, relation block, sign), in row order; those that are added come first."""
        terms = sorted(terms, key=lambda term: -term[3])
        return cls(
            blocks,
            tuple((i, k, j, s) for i, j, k, s in terms),
            tuple((j, k, i, s) for i, j, k, s in terms),
            tuple(terms),
        )


def contract(x: Tensor, y: Tensor, cells: Cells, blocks: int, out: Tensor | None = None) -> Tensor:
    """Σ ± x_a ∘ y_b in block c, over the cells (a, b, c, ±); written into `out` where that is given.

    x, y, out: (rows, dim), each row cut into `blocks` equal parts.
    """
    empty = set() if out is None else set(range(blocks))
    parts = None if out is None else out.chunk(blocks, 1)
    out = torch.zeros_like(x) if out is None else out  # autograd can add to zeros, not write into what is given
    xs, ys, width = x.chunk(blocks, 1), y.chunk(blocks, 1), out.shape[1] // blocks
    for a, b, c, sign in cells:
        part = out.narrow(1, c * width, width) if parts is None else parts[c]
        if c not in empty:
            part.addcmul_(xs[a], ys[b], value=sign)
            continue
        empty.remove(c)
        torch.mul(xs[a], ys[b], out=part)
        if sign < 0:
            part.neg_()
    for c in empty:
        out.narrow(1, c * width, width).zero_()
    return out


@dataclass(frozen=True)
class Segment:
    """Rows start … stop of a batch, all scored by the same plan."""

    plan: Plan
    start: int
    stop: int

    def of(self, x: Tensor) -> Tensor:
        return x[self.start : self.stop]


def query(h: Tensor, r: Tensor, segments: Sequence[Segment], out: Tensor | None = None) -> Tensor:
    """q (rows, dim) with score = q · t, where each segment of rows has its own structure; in `out` if given."""
    if len(segments) > MANY_SEGMENTS:
        M = segments[0].plan.blocks
        room = None if out is None else out.view(len(h), M, -1)
        return torch.bmm(_coefficients(segments, h), _products(h, r, M), out=room).view_as(h)
    if out is None:
        parts = [contract(s.of(h), s.of(r), s.plan.to_tail, s.plan.blocks) for s in segments]
        return torch.cat(parts) if parts else torch.zeros_like(h)
    for s in segments:
        contract(s.of(h), s.of(r), s.plan.to_tail, s.plan.blocks, s.of(out))
    return out


def query_backward(
    h: Tensor, r: Tensor, dq: Tensor, segments: Sequence[Segment], out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """The gradients of a loss with respect to h and r, given its gradient with respect to q; in `out` if given."""
    dh, dr = (torch.empty_like(h), torch.empty_like(r)) if out is None else out
    if len(segments) > MANY_SEGMENTS:
        M = segments[0].plan.blocks
        hs, rs = h.view(len(h), M, 1, -1), r.view(len(h), 1, M, -1)
        products = torch.bmm(_coefficients(segments, h).transpose(1, 2), dq.view(len(h), M, -1))
        products = products.view(len(h), M, M, -1)
        torch.sum(products * rs, 2, out=dh.view(len(h), M, -1))
        torch.sum(products * hs, 1, out=dr.view(len(h), M, -1))
        return dh, dr
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
    M = segments[0].plan.blocks
    number, i, k, j, sign = np.array([(n, *cell) for n, s in enumerate(segments) for cell in s.plan.to_tail]).T
    coefficients = np.zeros((len(segments), M, M, M), dtype=np.float32)
    coefficients[tuple(index.astype(np.int64) for index in (number, j, i, k))] = sign
    each = coefficients.reshape(len(segments), M, M * M).repeat([s.stop - s.start for s in segments], 0)
    return torch.from_numpy(each).to(like.device, like.dtype)
