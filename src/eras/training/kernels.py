"""What stands around the three products of a training step, as machine code.

PyTorch passes over memory once for each operation, and each of its calls takes microseconds: a hundred of them take as
long as the products of a small graph. Here a part of a step is one loop over the questions of a batch, by one thread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eras.compiled import numeric, summing
from eras.training.products import LOG2_E, SAFE

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Sizes = npt.NDArray[np.uint64]

_f = np.float32
_LARGE, _SMALL = SAFE, 1 / SAFE
_P0, _P1, _P2 = _f(1.00000007), _f(0.693146967), _f(0.240221197)
_P3, _P4, _P5 = _f(0.0555071327), _f(0.00967554133), _f(0.00132764719)
"""The polynomial of degree 5 that is nearest to 2ˣ from −½ to ½: its relative error is 8e-8 at most."""


class Questions(NamedTuple):
    """Q questions: entity, relation: (Q,), rows of tables; offsets: (Q + 1,), where in answers (A,) theirs begin."""

    entity: Ints
    relation: Ints
    offsets: Ints
    answers: Ints


class Asked(NamedTuple):
    """B of the questions: question, structure: (B,), their numbers and those of the structures that score them."""

    question: Ints
    structure: Ints


class Contraction(NamedTuple):
    """Σ ± x_a ∘ y_b in block c of M, for several structures, two terms at a time.

    starts: (structures + 1,), where the pairs of a structure begin; pairs: (n, 6), block c, blocks a and b of the first
    term and of the second, and 1 for the first pair of a block c; signs: (n, 2), 0 for a second term that is not there.
    """

    M: int
    starts: Ints
    pairs: Sizes
    signs: Floats


class Tables(NamedTuple):
    """entities: (n, dim), relations, and their gradients."""

    entities: Floats
    relations: Floats
    d_entities: Floats
    d_relations: Floats


@numeric
def _contract(
    cells: Contraction, n: int, dim: int, x: Floats, i: int, y: Floats, j: int, out: Floats, k: int,
    scale: np.float32, afresh: bool,
) -> None:  # fmt: skip
    """Row k of `out` from row i of x and row j of y by structure n, times `scale`; added to what is there or `afresh`.

    All tables are flat: to make a view of a row takes as long as to compute it.
    """
    width = np.uint64(dim // cells.M)  # unsigned, as for signed indices a loop looks out for negative ones
    x0, y0, z0 = np.uint64(i * dim), np.uint64(j * dim), np.uint64(k * dim)
    for p in range(cells.starts[n], cells.starts[n + 1]):
        c, s, t = z0 + cells.pairs[p, 0] * width, scale * cells.signs[p, 0], scale * cells.signs[p, 1]
        a, b = x0 + cells.pairs[p, 1] * width, y0 + cells.pairs[p, 2] * width
        d, e = x0 + cells.pairs[p, 3] * width, y0 + cells.pairs[p, 4] * width
        if afresh and cells.pairs[p, 5]:
            for w in range(width):
                out[c + w] = s * x[a + w] * y[b + w] + t * x[d + w] * y[e + w]
        else:
            for w in range(width):
                out[c + w] += s * x[a + w] * y[b + w] + t * x[d + w] * y[e + w]


@numeric
def ask(asked: Asked, of: Questions, to_tail: Contraction, tables: Tables, scale: float, q: Floats) -> None:
    """The queries, times `scale`, in q (B, dim)."""
    dim, entities, relations, out = q.shape[1], tables.entities.ravel(), tables.relations.ravel(), q.ravel()
    for row in range(len(q)):
        n, question = asked.structure[row], asked.question[row]
        e, r = of.entity[question], of.relation[question]
        _contract(to_tail, n, dim, entities, e, relations, r, out, row, _f(scale), True)


@numeric
def _power(x: np.float32) -> np.float32:
    """2ˣ to 22 bits; beyond −126 and 127 that of these.

    A large number, added and taken off again, rounds x to an integer, which becomes the exponent. For the rest, from −½
    to ½, there is a polynomial.
    """
    x = min(max(x, _f(-126.0)), _f(127.0))
    shifted = x + _f(3 << 22)
    f = x - (shifted - _f(3 << 22))
    p = ((((_P5 * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _P0
    return p * np.int32((_f(shifted).view(np.int32) + 127) << 23).view(np.float32)


@numeric
def exponentiate(scores: Floats, total: Floats) -> None:
    """Exponentials in place of scores (n, B), and their sums over n, (B,)."""
    total[:] = _f(0.0)
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            power = _power(_f(LOG2_E) * scores[i, j])
            scores[i, j] = power
            total[j] += power


@numeric
def slopes(asked: Asked, of: Questions, n_answers: int, powers: Floats, total: Floats, weight: Floats) -> float:
    """The loss, from exponentials (n, B) and their sums (B,); nan where one of them is too large or too small.

    They become slopes but for their weight (B,): the slope is weight · (power − total / c at the answers), for c
    answers and a weight of c / total / n_answers.
    """
    loss = 0.0
    for row in range(len(total)):
        question, whole = asked.question[row], total[row]
        first, last = of.offsets[question], of.offsets[question + 1]
        count, product = last - first, 1.0
        if not _SMALL < whole < _LARGE:
            return np.nan
        each = _f(whole / count)
        for place in range(first, last):
            answer = of.answers[place]
            value = powers[answer, row]
            if not value > _SMALL:
                return np.nan
            product *= value  # one logarithm for several answers
            if not 1e-200 < product < 1e200:
                loss -= math.log(product)
                product = 1.0
            powers[answer, row] = value - each
        loss += count * math.log(whole) - math.log(product)
        weight[row] = _f(count / whole / n_answers)
    return loss / n_answers


@numeric
def weigh_slopes(slopes: Floats, weight: Floats) -> None:
    """Multiply (n, B) with weight (B,), which becomes 1."""
    for i in range(slopes.shape[0]):
        for j in range(slopes.shape[1]):
            slopes[i, j] *= weight[j]
    weight[:] = _f(1.0)


@numeric
def weigh_queries(q: Floats, weight: Floats, scale: float) -> None:
    """Multiply (B, dim) with weight (B,), and with `scale`."""
    for row in range(q.shape[0]):
        by = weight[row] * _f(scale)
        for i in range(q.shape[1]):
            q[row, i] *= by


@numeric
def differentiate(
    asked: Asked, of: Questions, to_head: Contraction, to_relation: Contraction, tables: Tables, dq: Floats,
    weight: Floats,
) -> None:  # fmt: skip
    """Add what dq (B, dim), times weight (B,), says of the entities and relations that are asked about."""
    dim, g, entities, relations = dq.shape[1], dq.ravel(), tables.entities.ravel(), tables.relations.ravel()
    d_entities, d_relations = tables.d_entities.ravel(), tables.d_relations.ravel()
    for row in range(len(dq)):
        n, question = asked.structure[row], asked.question[row]
        e, r = of.entity[question], of.relation[question]
        _contract(to_head, n, dim, g, row, relations, r, d_entities, e, weight[row], False)
        _contract(to_relation, n, dim, entities, e, g, row, d_relations, r, weight[row], False)


@numeric
def name(asked: Asked, of: Questions, kinds: Ints, entities: Floats, relations: Floats) -> int:
    """How often the questions name each row of the tables, (kinds, rows); the number of answers.

    What is asked about is named once for each answer. kinds: (structures,).
    """
    entities[:], relations[:] = _f(0.0), _f(0.0)
    n_answers = 0
    for row in range(len(asked.question)):
        question, kind = asked.question[row], kinds[asked.structure[row]]
        first, last = of.offsets[question], of.offsets[question + 1]
        n_answers += last - first
        entities[kind, of.entity[question]] += _f(last - first)
        relations[kind, of.relation[question]] += _f(last - first)
        for place in range(first, last):
            entities[kind, of.answers[place]] += _f(1.0)
    return n_answers


@summing
def _cubes(squares: Floats, weight: np.float32) -> float:
    """weight · Σ modulus³, of squares of moduli, in whose place come the slopes of their coordinates."""
    total = _f(0.0)
    for i in range(len(squares)):
        modulus = np.sqrt(squares[i])
        total += modulus * squares[i]
        squares[i] = _f(3.0) * weight * modulus
    return float(weight * total)


@numeric
def n3(table: Floats, d_table: Floats, named: Floats, coupled: Ints, scale: float) -> float:
    """scale · Σ |x|³ over moduli of rows x, as often as they are named; its gradient is added to `d_table`.

    coupled: (kinds, M, M), sets of blocks that make up a modulus, each a row that ends with −1.
    """
    (rows, dim), M, total, x, dx = table.shape, coupled.shape[1], 0.0, table.ravel(), d_table.ravel()
    width, room = np.uint64(dim // M), np.empty(dim // M, np.float32)
    for kind in range(len(named)):
        for row in range(rows):
            if not named[kind, row]:
                continue
            for together in range(M):
                if coupled[kind, together, 0] < 0:
                    break
                room[:] = _f(0.0)
                for m in range(M):
                    if coupled[kind, together, m] >= 0:
                        b = np.uint64(row * dim) + np.uint64(coupled[kind, together, m]) * width
                        for i in range(width):
                            room[i] += x[b + i] * x[b + i]
                total += _cubes(room, _f(scale * named[kind, row]))
                for m in range(M):
                    if coupled[kind, together, m] >= 0:
                        b = np.uint64(row * dim) + np.uint64(coupled[kind, together, m]) * width
                        for i in range(width):
                            dx[b + i] += room[i] * x[b + i]
    return total


@summing
def _squares(x: Floats, dx: Floats, weight: np.float32) -> float:
    total = _f(0.0)
    for i in range(len(x)):
        total += x[i] * x[i]
        dx[i] += _f(2.0) * weight * x[i]
    return float(weight * total)


@numeric
def f2(table: Floats, d_table: Floats, named: Floats, scale: float) -> float:
    """scale · Σ ‖x‖² over rows x, as often as they are named; its gradient is added to `d_table`."""
    total = 0.0
    for kind in range(len(named)):
        for row in range(len(table)):
            if named[kind, row]:
                total += _squares(table[row], d_table[row], _f(scale * named[kind, row]))
    return total


@numeric
def adagrad(table: Floats, gradient: Floats, sums: Floats, lr: float, eps: float) -> None:
    """One step of Adagrad; all three are (n, dim)."""
    x, dx, s = table.ravel(), gradient.ravel(), sums.ravel()
    for i in range(len(x)):
        s[i] += dx[i] * dx[i]
        x[i] -= _f(lr) * dx[i] / (np.sqrt(s[i]) + _f(eps))
