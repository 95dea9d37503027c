"""What stands around the three products of a training step, as machine code.

PyTorch passes over memory once for each operation, and each of its calls takes microseconds: a hundred of them take as
long as the products of a small graph. Here a part of a step is one loop over the questions of a batch, by one thread.
`shares` and `rows` make whole steps of them.
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

Range = tuple[int, int]
"""The first row, and the end."""

_f = np.float32
_u = np.uint64
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


class Structures(NamedTuple):
    """S structures. Each contracts three pairs of tables: Σ ± x_a ∘ y_b in block c, two terms at a time.

    width: of a block. starts: (3 S + 1,), where the pairs of terms begin, for queries from n, for heads from S + n, for
    relations from 2 S + n; pairs: (n, 6), where block c begins, and blocks a and b of the first term and of the second,
    and 1 for the first pair of a block c; signs: (n, 2), 0 for a second term that is not there.

    kinds: (S,), which of the couplings is theirs. These are (kinds, M, M), sets of blocks that make up a modulus for
    the penalty n3, each a row that ends with −1.
    """

    width: int
    starts: Ints
    pairs: Sizes
    signs: Floats
    kinds: Ints
    coupled_entities: Ints
    coupled_relations: Ints


class Tables(NamedTuple):
    """entities: (n, dim), relations, and their gradients."""

    entities: Floats
    relations: Floats
    d_entities: Floats
    d_relations: Floats


class Named(NamedTuple):
    """How often questions name each row of the tables: (kinds, rows), or (C, kinds, rows) for C threads."""

    entities: Floats
    relations: Floats


@numeric
def _contract(
    by: Structures, n: int, dim: int, x: Floats, i: Ints, y: Floats, j: Ints, out: Floats, k: Ints, only: Range,
    scale: Floats, afresh: bool,
) -> None:  # fmt: skip
    """Rows k of `out`, of those in `only`, from rows i of x and j of y by contraction n, times scale (B,).

    `afresh` or added. All tables are flat: to make a view of a row takes as long as to compute it.
    """
    width, size = _u(by.width), _u(dim)  # unsigned, as for signed indices a loop looks out for negative ones
    for p in range(by.starts[n], by.starts[n + 1]):
        a, b, c, d, e = by.pairs[p, 1], by.pairs[p, 2], by.pairs[p, 0], by.pairs[p, 3], by.pairs[p, 4]
        for row in range(len(k)):
            if not only[0] <= k[row] < only[1]:
                continue
            s, t = scale[row] * by.signs[p, 0], scale[row] * by.signs[p, 1]
            x0, y0, z = _u(i[row]) * size, _u(j[row]) * size, _u(k[row]) * size + c
            xa, yb, xd, ye = x0 + a, y0 + b, x0 + d, y0 + e
            if afresh and by.pairs[p, 5]:
                for w in range(width):
                    out[z + w] = s * x[xa + w] * y[yb + w] + t * x[xd + w] * y[ye + w]
            else:
                for w in range(width):
                    out[z + w] += s * x[xa + w] * y[yb + w] + t * x[xd + w] * y[ye + w]


@numeric
def _run(structure: Ints, first: int) -> int:
    """Where the equal ones that begin at `first` end."""
    last = first + 1
    while last < len(structure) and structure[last] == structure[first]:
        last += 1
    return last


@numeric
def ask(asked: Asked, of: Questions, by: Structures, tables: Tables, q: Floats) -> None:
    """The queries in q (B, dim)."""
    entities, relations, out = tables.entities.ravel(), tables.relations.ravel(), q.ravel()
    e, r, rows, first = of.entity[asked.question], of.relation[asked.question], np.arange(len(q)), 0
    ones, everywhere = np.ones(len(q), np.float32), (0, len(q))
    while first < len(q):
        last, n = _run(asked.structure, first), asked.structure[first]
        s = slice(first, last)
        _contract(by, n, q.shape[1], entities, e[s], relations, r[s], out, rows[s], everywhere, ones[s], True)
        first = last


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
def exponentiate(scores: Floats, log_weight: Floats, total: Floats) -> None:
    """Exponentials in place of scores (n, B), of a candidate that stands for more than itself times as many.

    log_weight: (n,); the sums over n are added to `total`, (B,).
    """
    flat, B = scores.ravel(), np.uint64(len(total))
    for i in range(len(scores)):
        at, more = np.uint64(i) * B, _f(LOG2_E) * log_weight[i]
        for j in range(B):
            power = _power(_f(LOG2_E) * flat[at + j] + more)
            flat[at + j] = power
            total[j] += power


@numeric
def exponentiate_rows(scores: Floats, total: Floats) -> None:
    """Exponentials in place of scores (B, n); their sums over n are `total`, (B,)."""
    flat = scores.ravel()
    for i in range(len(flat)):
        flat[i] = _power(_f(LOG2_E) * flat[i])
    for row in range(len(scores)):
        total[row] = _sum(scores[row])


@summing
def _sum(x: Floats) -> np.float32:
    total = _f(0.0)
    for i in range(len(x)):
        total += x[i]
    return total


@numeric
def count(asked: Asked, of: Questions) -> int:
    """The number of answers."""
    answers = 0
    for row in range(len(asked.question)):
        answers += of.offsets[asked.question[row] + 1] - of.offsets[asked.question[row]]
    return answers


@numeric
def slopes(
    asked: Asked, of: Questions, by: Structures, n_answers: int, powers: Floats, total: Floats, weight: Floats,
    entities: Floats, relations: Floats,
) -> float:  # fmt: skip
    """The loss, from exponentials (n, B) and their sums (B,); nan where one of them is too large or too small.

    They become slopes but for their weight (B,): the slope is weight · (power − total / c at the answers), for c
    answers and a weight of c / total / n_answers. In entities and relations, (kinds, rows), is counted how often each
    row of the tables is named; what is asked about is named once for each answer.
    """
    loss, product, entities[:], relations[:] = 0.0, 1.0, _f(0.0), _f(0.0)
    for row in range(len(total)):
        question, whole, kind = asked.question[row], total[row], by.kinds[asked.structure[row]]
        first, last = of.offsets[question], of.offsets[question + 1]
        answers = last - first
        if not _SMALL < whole < _LARGE:
            return np.nan
        each = _f(whole / answers)
        for place in range(first, last):
            answer = of.answers[place]
            value = powers[answer, row]
            if not value > _SMALL:
                return np.nan
            product *= value / float(whole)  # one logarithm for many answers
            if product < 1e-200:
                loss -= math.log(product)
                product = 1.0
            powers[answer, row] = value - each
            entities[kind, answer] += _f(1.0)
        weight[row] = _f(answers / whole / n_answers)
        entities[kind, of.entity[question]] += _f(answers)
        relations[kind, of.relation[question]] += _f(answers)
    return (loss - math.log(product)) / n_answers


@numeric
def weigh(q: Floats, weight: Floats) -> None:
    """Multiply queries (B, dim) with weight (B,)."""
    for row in range(q.shape[0]):
        for i in range(q.shape[1]):
            q[row, i] *= weight[row]


@numeric
def differentiate(
    asked: Asked, of: Questions, by: Structures, tables: Tables, dq: Floats, weight: Floats, e: Range, r: Range
) -> None:
    """Add what dq (B, dim), times weight (B,), says of the entities and relations that are asked about.

    Only of those in e and r: a thread may have other rows than another.
    """
    g, entities, relations = dq.ravel(), tables.entities.ravel(), tables.relations.ravel()
    d_entities, d_relations, S, dim = tables.d_entities.ravel(), tables.d_relations.ravel(), len(by.kinds), dq.shape[1]
    entity, relation, rows = of.entity[asked.question], of.relation[asked.question], np.arange(len(dq))
    first = 0
    while first < len(dq):
        last, n = _run(asked.structure, first), asked.structure[first]
        s = slice(first, last)
        i, j, k, w = entity[s], relation[s], rows[s], weight[s]
        _contract(by, S + n, dim, g, k, relations, j, d_entities, i, e, w, False)
        _contract(by, 2 * S + n, dim, entities, i, g, k, d_relations, j, r, w, False)
        first = last


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
def _n3(x: Floats, dx: Floats, row: int, dim: int, coupled: Ints, weight: np.float32, room: Floats) -> float:
    """weight · Σ |x|³ over moduli of a row of a flat table; `coupled` as for `penalise`, of one kind."""
    M, total = len(coupled), 0.0
    width = np.uint64(dim // M)
    for together in range(M):
        if coupled[together, 0] < 0:
            break
        room[:] = _f(0.0)
        for m in range(M):
            if coupled[together, m] >= 0:
                b = np.uint64(row * dim) + np.uint64(coupled[together, m]) * width
                for i in range(width):
                    room[i] += x[b + i] * x[b + i]
        total += _cubes(room, weight)
        for m in range(M):
            if coupled[together, m] >= 0:
                b = np.uint64(row * dim) + np.uint64(coupled[together, m]) * width
                for i in range(width):
                    dx[b + i] += room[i] * x[b + i]
    return total


@summing
def _f2(x: Floats, dx: Floats, row: int, dim: int, weight: np.float32) -> float:
    """weight · ‖x‖² of a row of a flat table."""
    total = _f(0.0)
    for i in range(np.uint64(row * dim), np.uint64((row + 1) * dim)):
        total += x[i] * x[i]
        dx[i] += _f(2.0) * weight * x[i]
    return float(weight * total)


@numeric
def _penalise(
    rows: Range, power: int, table: Floats, d_table: Floats, named: Floats, coupled: Ints, scale: float
) -> float:
    dim, x, dx, total = table.shape[1], table.ravel(), d_table.ravel(), 0.0
    room = np.empty(dim // coupled.shape[1], np.float32)
    for kind in range(len(named)):
        for row in range(rows[0], rows[1]):
            weight = _f(scale * named[kind, row])
            if weight and power == 3:
                total += _n3(x, dx, row, dim, coupled[kind], weight, room)
            elif weight:
                total += _f2(x, dx, row, dim, weight)
    return total


@numeric
def penalise(by: Structures, tables: Tables, named: Named, e: Range, r: Range, power: int, scale: float) -> float:
    """scale · Σ |x|^power over rows x of both tables, as often as they are named; its gradient is added.

    Of squares, |x| is the norm (f2); of cubes, they are those of all moduli (n3).
    """
    if not power:
        return 0.0
    of_entities, of_relations = named.entities, named.relations
    return _penalise(e, power, tables.entities, tables.d_entities, of_entities, by.coupled_entities, scale) + _penalise(
        r, power, tables.relations, tables.d_relations, of_relations, by.coupled_relations, scale
    )
