"""Whole steps of training as machine code where entities are many: each thread has rows of the entity table.

It scores its rows, a few at a time, and while these scores are in its cache they become exponentials and a part of the
gradient of the queries. What crosses from one thread to another are queries, sums of exponentials and gradients of
queries; rows of entities and of their gradients never do. (`shares` deals out questions, which is less to cross where
these are more than the entities.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from eras.compiled import numeric, threaded
from eras.training.blas import multiply
from eras.training.kernels import (
    Asked,
    Floats,
    Ints,
    Named,
    Questions,
    Range,
    Structures,
    Tables,
    ask,
    count,
    differentiate,
    exponentiate,
    penalise,
    slopes,
    weigh_queries,
)
from eras.training.shares import Adagrad, Doubles, as_signed, by_relation, deal, move

_TILE = 256
"""Rows scored at a time."""

_f = np.float32


class RowRoom(NamedTuple):
    """Room for B questions and C threads.

    q: (B, dim); dq: (C, B, dim); scores: (n, B); total: (C, B); weight: (B,); d_entities, d_relations: (rows, dim);
    loss, penalty: (C,).
    """

    q: Floats
    dq: Floats
    scores: Floats
    total: Floats
    weight: Floats
    d_entities: Floats
    d_relations: Floats
    loss: Doubles
    penalty: Doubles


@numeric
def _score(first: int, last: int, entities: Floats, q: Floats, scores: Floats, total: Floats, dq: Floats) -> None:
    """Exponentials of the scores of these rows, their sums, (B,), and their products with the rows, (B, dim)."""
    total[:] = _f(0.0)
    dq[:] = _f(0.0)
    for start in range(first, last, _TILE):
        end = min(start + _TILE, last)
        rows, some = entities[start:end], scores[start:end]
        multiply(rows, False, q, True, some, False)
        exponentiate(some, total)
        multiply(some, True, rows, False, dq, True)


@numeric
def _weigh(
    first: int, last: int, asked: Asked, of: Questions, by: Structures, entities: Floats, room: RowRoom,
    n_answers: int, of_entities: Floats, of_relations: Floats,
) -> float:  # fmt: skip
    """The loss of these questions; their scores become slopes but for a weight, with which the queries are multiplied.

    The gradients of their queries, but for the weight, are in the first room.
    """
    some, total, weight, q = slice(first, last), room.total[0], room.weight, room.q
    for thread in range(1, len(room.total)):
        for row in range(first, last):
            total[row] += room.total[thread, row]
    mine = Asked(asked.question[some], asked.structure[some])
    powers = room.scores[:, some]
    loss = slopes(mine, of, by, n_answers, powers, total[some], weight[some], of_entities, of_relations)
    if not np.isfinite(loss):
        return loss
    dim, dq, table = q.shape[1], room.dq, entities.ravel()
    for row in range(first, last):
        d = dq[0, row]
        for thread in range(1, len(dq)):
            other = dq[thread, row]
            for i in range(dim):
                d[i] += other[i]
        begin, end = of.offsets[asked.question[row]], of.offsets[asked.question[row] + 1]
        each = total[row] / _f(end - begin)
        for place in range(begin, end):
            answer = np.uint64(of.answers[place] * dim)
            for i in range(np.uint64(dim)):
                d[i] -= each * table[answer + i]
    weigh_queries(q[some], weight[some], 1.0)
    return loss


@numeric
def _add(mine: Floats, theirs: Floats, rows: Range) -> None:
    """Loops, since sums of slices take seconds to compile."""
    for kind in range(len(mine)):
        for row in range(rows[0], rows[1]):
            mine[kind, row] += theirs[kind, row]


@numeric
def _sum_up(
    share: int, dealt: Ints, asked: Asked, of: Questions, by: Structures, entities: Floats, relations: Floats,
    room: RowRoom, named: Named, power: int, scale: float,
) -> float:  # fmt: skip
    """The gradients of a thread's rows, with those of their penalty, which is returned."""
    e, r = (dealt[1, share], dealt[1, share + 1]), (dealt[2, share], dealt[2, share + 1])
    multiply(room.scores[e[0] : e[1]], False, room.q, False, room.d_entities[e[0] : e[1]], False)
    room.d_relations[r[0] : r[1]] = _f(0.0)
    tables = Tables(entities, relations, room.d_entities, room.d_relations)
    differentiate(asked, of, by, tables, room.dq[0], room.weight, e, r)
    of_entities, of_relations = named.entities, named.relations
    for other in range(len(of_entities)):
        if other != share:
            _add(of_entities[share], of_entities[other], e)
            _add(of_relations[share], of_relations[other], r)
    return penalise(by, tables, Named(of_entities[share], of_relations[share]), e, r, power, scale)


@threaded
def answer(
    asked: Asked, state: Adagrad, lr: float,
    of: Questions, by: Structures, entities: Floats, relations: Floats, whole: RowRoom, named: Named, power: int,
    reg_weight: float,
) -> tuple[float, float]:  # fmt: skip
    """As `shares.answer`, with gradients in the only room there is."""
    B, n, dim, losses, penalties = len(asked.question), len(entities), whole.q.shape[1], whole.loss, whole.penalty
    shares, n_answers, loss, penalty = len(losses), count(asked, of), 0.0, 0.0
    q, weight, total = whole.q[:B], whole.weight[:B], whole.total.ravel()[: shares * B].reshape(shares, B)
    dq = whole.dq.ravel()[: shares * B * dim].reshape(shares, B, dim)
    scores = whole.scores.ravel()[: n * B].reshape(n, B)
    d_entities, d_relations = whole.d_entities, whole.d_relations
    question, structure = by_relation(asked, of, len(relations))
    dealt = deal(question, of, n, len(relations), shares)
    for share in prange(shares):
        tables = Tables(entities, relations, d_entities, d_relations)
        some = slice(dealt[0, share], dealt[0, share + 1])
        ask(Asked(question[some], structure[some]), of, by, tables, 1.0, q[some])
    for share in prange(shares):
        _score(dealt[1, share], dealt[1, share + 1], entities, q, scores, total[share], dq[share])
    for share in prange(shares):
        room = RowRoom(q, dq, scores, total, weight, d_entities, d_relations, losses, penalties)
        names = named.entities[share], named.relations[share]
        first, last = dealt[0, share], dealt[0, share + 1]
        losses[share] = _weigh(first, last, Asked(question, structure), of, by, entities, room, n_answers, *names)
    for share in range(shares):
        loss += losses[share]
    if not np.isfinite(loss):
        return loss, penalty
    for share in prange(shares):
        room = RowRoom(q, dq, scores, total, weight, d_entities, d_relations, losses, penalties)
        both, scale = Asked(question, structure), reg_weight / n_answers
        penalties[share] = _sum_up(
            as_signed(share), dealt, both, of, by, entities, relations, room, named, power, scale
        )  # fmt: skip
    for share in range(shares):
        penalty += penalties[share]
    if lr and np.isfinite(penalty):
        for share in prange(shares):
            move(as_signed(share), dealt[1], entities, d_entities, state.entities, _f(lr))
            move(as_signed(share), dealt[2], relations, d_relations, state.relations, _f(lr))
        state.entity_steps[0] += _f(1.0)
        state.relation_steps[0] += _f(1.0)
    return loss, penalty
