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

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Sizes = npt.NDArray[np.uint64]

_f = np.float32
_LARGE, _SMALL = 2.0**90, 2.0**-90
"""Sums of exponentials between these leave room for their products with counts and weights."""


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
def _contract(cells: Contraction, n: int, x: Floats, y: Floats, out: Floats, scale: np.float32, afresh: bool) -> None:
    """The contraction by structure n, times `scale`: written into `out` if `afresh`, otherwise added to it."""
    width = np.uint64(len(out) // cells.M)  # unsigned, as for signed indices a loop looks out for negative ones
    for p in range(cells.starts[n], cells.starts[n + 1]):
        c, a, b = cells.pairs[p, 0] * width, cells.pairs[p, 1] * width, cells.pairs[p, 2] * width
        d, e = cells.pairs[p, 3] * width, cells.pairs[p, 4] * width
        s, t = scale * cells.signs[p, 0], scale * cells.signs[p, 1]
        if afresh and cells.pairs[p, 5]:
            for i in range(width):
                out[c + i] = s * x[a + i] * y[b + i] + t * x[d + i] * y[e + i]
        else:
            for i in range(width):
                out[c + i] += s * x[a + i] * y[b + i] + t * x[d + i] * y[e + i]


@numeric
def ask(asked: Asked, of: Questions, to_tail: Contraction, tables: Tables, scale: float, q: Floats) -> None:
    """The queries, times `scale`, in q (B, dim)."""
    for row in range(len(q)):
        question = asked.question[row]
        h, r = tables.entities[of.entity[question]], tables.relations[of.relation[question]]
        _contract(to_tail, asked.structure[row], h, r, q[row], _f(scale), True)


@numeric
def slopes(
    asked: Asked, of: Questions, n_answers: int, powers: Floats, total: Floats, scale: float, q: Floats, weight: Floats
) -> float:
    """The loss, from powers (n, B) of the scores and their sums (B,); nan where one of them is too large or small.

    The powers become slopes but for their weight (B,): the slope is weight · (power − total / c at the answers), for c
    answers and a weight of c / total / n_answers. The queries get that weight, and lose the scale that they had.
    """
    loss = 0.0
    for row in range(len(q)):
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
        back, query = weight[row] / _f(scale), q[row]
        for i in range(len(query)):
            query[i] *= back
    return loss / n_answers


@numeric
def differentiate(
    asked: Asked, of: Questions, to_head: Contraction, to_relation: Contraction, tables: Tables, dq: Floats,
    weight: Floats,
) -> None:  # fmt: skip
    """Add what dq (B, dim), times weight (B,), says of the entities and relations that are asked about."""
    for row in range(len(dq)):
        question, n = asked.question[row], asked.structure[row]
        entity, relation = of.entity[question], of.relation[question]
        h, r = tables.entities[entity], tables.relations[relation]
        _contract(to_head, n, dq[row], r, tables.d_entities[entity], weight[row], False)
        _contract(to_relation, n, h, dq[row], tables.d_relations[relation], weight[row], False)


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


@numeric
def _add_squares(out: Floats, x: Floats) -> None:
    for i in range(len(out)):
        out[i] += x[i] * x[i]


@numeric
def _add_product(out: Floats, x: Floats, y: Floats) -> None:
    for i in range(len(out)):
        out[i] += x[i] * y[i]


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
def _n3(x: Floats, dx: Floats, weight: np.float32, coupled: Ints, room: Floats) -> float:
    total, width = 0.0, len(room)
    for together in coupled:
        if together[0] < 0:
            break
        room[:] = _f(0.0)
        for b in together:
            if b >= 0:
                _add_squares(room, x[b * width : (b + 1) * width])
        total += _cubes(room, weight)
        for b in together:
            if b >= 0:
                _add_product(dx[b * width : (b + 1) * width], room, x[b * width : (b + 1) * width])
    return total


@numeric
def n3(table: Floats, d_table: Floats, named: Floats, coupled: Ints, scale: float) -> float:
    """scale · Σ |x|³ over moduli of rows x, as often as they are named; its gradient is added to `d_table`.

    coupled: (kinds, M, M), sets of blocks that make up a modulus, each a row that ends with −1.
    """
    total, room = 0.0, np.empty(table.shape[1] // coupled.shape[1], np.float32)
    for kind in range(len(named)):
        for row in range(len(table)):
            if named[kind, row]:
                total += _n3(table[row], d_table[row], _f(scale * named[kind, row]), coupled[kind], room)
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
def adagrad(x: Floats, g: Floats, sums: Floats, lr: float, eps: float) -> None:
    """One step of Adagrad; x, g, sums: (n,)."""
    for i in range(len(x)):
        sums[i] += g[i] * g[i]
        x[i] -= _f(lr) * g[i] / (np.sqrt(sums[i]) + _f(eps))
