"""Whole steps of training as machine code where entities are many, or a sample of them is compared: by their rows.

A thread scores its rows, a few at a time, and while these scores are in its cache they become exponentials and a part
of the gradient of the queries. What crosses from one thread to another are queries, sums of exponentials and gradients
of queries; rows of entities and of their gradients never do. (`shares` deals out questions, which is less to cross
where these are more than the entities.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from eras.compiled import numeric, threaded
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
    weigh,
)
from eras.training.shares import Adagrad, Doubles, adagrad, as_signed, by_relation, deal, move
from eras.training.tiles import multiply, turn

TILE = 64
"""Rows scored at a time."""

_GRADIENT_ROWS = 256
"""Rows at a time whose gradients are made: each number of them has kernels of its own, and a sample has any number."""

_f = np.float32


class RowRoom(NamedTuple):
    """Room for B questions and C threads.

    q, dq: (B, dim), queries and their gradients; turned: (dim, B), and d_turned: (C, dim, B), the same transposed, the
    latter for each thread's rows; tile: (C, dim TILE), rows of entities transposed; scores: (n, B); total: (C, B);
    weight: (B,); d_entities, d_relations: (rows, dim); loss, penalty: (C,).
    """

    q: Floats
    dq: Floats
    turned: Floats
    d_turned: Floats
    tile: Floats
    scores: Floats
    total: Floats
    weight: Floats
    d_entities: Floats
    d_relations: Floats
    loss: Doubles
    penalty: Doubles


class Compared(NamedTuple):
    """The entities that are compared: vectors, (n, dim); entity, (n,), where each has its row; log_weight, (n,).

    The last is the logarithm of how many entities each stands for.
    """

    vectors: Floats
    entity: Ints
    log_weight: Floats


@numeric
def _ask(
    first: int, last: int, asked: Asked, of: Questions, by: Structures, entities: Floats, relations: Floats,
    room: RowRoom,
) -> None:  # fmt: skip
    """The queries of these questions, as rows and as columns."""
    (B, dim), some, q, turned = room.q.shape, slice(first, last), room.q[first:last], room.turned.ravel()[first:]
    tables = Tables(entities, relations, room.d_entities, room.d_relations)
    ask(Asked(asked.question[some], asked.structure[some]), of, by, tables, q)
    turn(q.ravel(), dim, turned, B, last - first, dim)


@numeric
def _score(share: int, first: int, last: int, candidates: Compared, room: RowRoom) -> None:
    """Exponentials of the scores of a thread's rows, their sums, (B,), and the rows' products with them, (dim, B)."""
    entities, log_weight = candidates.vectors, candidates.log_weight
    dim, total, d_turned = entities.shape[1], room.total[share], room.d_turned[share]
    total[:] = _f(0.0)
    d_turned[:] = _f(0.0)
    for start in range(first, last, TILE):
        end = min(start + TILE, last)
        rows, scores = entities[start:end], room.scores[start:end]
        columns = room.tile[share][: dim * len(rows)].reshape(dim, len(rows))
        multiply(rows, room.turned, scores, False)
        exponentiate(scores, log_weight[start:end], total)
        turn(rows.ravel(), dim, columns.ravel(), len(rows), len(rows), dim)
        multiply(columns, scores, d_turned, True)


@numeric
def _weigh(
    first: int, last: int, asked: Asked, of: Questions, by: Structures, entities: Floats, room: RowRoom,
    n_answers: int, of_entities: Floats, of_relations: Floats,
) -> float:  # fmt: skip
    """The loss of these questions; their scores become slopes but for a weight, with which the queries are multiplied.

    The gradients of their queries, but for the weight, are in `dq`.
    """
    (B, dim), some, total, d_turned = room.q.shape, slice(first, last), room.total[0], room.d_turned[0].ravel()
    for other in range(1, len(room.total)):
        for row in range(first, last):
            total[row] += room.total[other, row]
    mine, scores, weight = Asked(asked.question[some], asked.structure[some]), room.scores[:, some], room.weight[some]
    loss = slopes(mine, of, by, n_answers, scores, total[some], weight, of_entities, of_relations)
    if not np.isfinite(loss):
        return loss
    for other in range(1, len(room.d_turned)):
        theirs = room.d_turned[other].ravel()
        for i in range(dim):
            for at in range(np.uint64(i * B + first), np.uint64(i * B + last)):
                d_turned[at] += theirs[at]
    turn(d_turned[first:], B, room.dq[some].ravel(), dim, dim, last - first)
    _take_off_answers(mine, of, entities.ravel(), total[some], room.dq[some])
    weigh(room.q[some], weight)
    return loss


@numeric
def _take_off_answers(asked: Asked, of: Questions, entities: Floats, total: Floats, dq: Floats) -> None:
    """What the answers' own slopes, total / c for each of c, say of the queries (B, dim); the table is flat."""
    dim = dq.shape[1]
    for row in range(len(dq)):
        d, begin, end = dq[row], of.offsets[asked.question[row]], of.offsets[asked.question[row] + 1]
        each = total[row] / _f(end - begin)
        for place in range(begin, end):
            answer = np.uint64(of.answers[place] * dim)
            for i in range(np.uint64(dim)):
                d[i] -= each * entities[answer + i]


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
    for start in range(e[0], e[1], _GRADIENT_ROWS):
        end = min(start + _GRADIENT_ROWS, e[1])
        multiply(room.scores[start:end], room.q, room.d_entities[start:end], False)
    room.d_relations[r[0] : r[1]] = _f(0.0)
    tables = Tables(entities, relations, room.d_entities, room.d_relations)
    differentiate(asked, of, by, tables, room.dq, room.weight, e, r)
    of_entities, of_relations = named.entities, named.relations
    for other in range(len(of_entities)):
        if other != share:
            _add(of_entities[share], of_entities[other], e)
            _add(of_relations[share], of_relations[other], r)
    return penalise(by, tables, Named(of_entities[share], of_relations[share]), e, r, power, scale)


@numeric
def _move(first: int, last: int, entity: Ints, table: Floats, gradients: Floats, sums: Floats, lr: np.float32) -> None:
    """The rows of the table that these candidates come from."""
    dim = table.shape[1]
    for place in range(first, last):
        adagrad(table.ravel(), entity[place] * dim, gradients.ravel(), place * dim, dim, sums.ravel(), lr)


@threaded
def answer(
    asked: Asked, state: Adagrad, lr: float,
    of: Questions, by: Structures, candidates: Compared, relations: Floats, room: RowRoom, named: Named, power: int,
    reg_weight: float, table: Floats,
) -> tuple[float, float]:  # fmt: skip
    """As `shares.answer`, with gradients in the only room there is, which is that of as many questions.

    Questions and answers are places among the candidates; with a rate `lr`, their rows of the table are moved.
    """
    entities, losses, penalties = candidates.vectors, room.loss, room.penalty
    shares, n_answers, loss, penalty = len(losses), count(asked, of), 0.0, 0.0
    question, structure = by_relation(asked, of, len(relations))
    dealt = deal(question, of, len(entities), len(relations), shares)
    for share in prange(shares):
        both = Asked(question, structure)
        _ask(dealt[0, share], dealt[0, share + 1], both, of, by, entities, relations, room)
    for share in prange(shares):
        _score(as_signed(share), dealt[1, share], dealt[1, share + 1], candidates, room)
    for share in prange(shares):
        both, names = Asked(question, structure), (named.entities[share], named.relations[share])
        first, last = dealt[0, share], dealt[0, share + 1]
        losses[share] = _weigh(first, last, both, of, by, entities, room, n_answers, *names)
    for share in range(shares):
        loss += losses[share]
    if not np.isfinite(loss):
        return loss, penalty
    for share in prange(shares):
        both, scale = Asked(question, structure), reg_weight / n_answers
        penalties[share] = _sum_up(
            as_signed(share), dealt, both, of, by, entities, relations, room, named, power, scale
        )  # fmt: skip
    for share in range(shares):
        penalty += penalties[share]
    if lr and np.isfinite(penalty):
        for share in prange(shares):
            first, last = dealt[1, share], dealt[1, share + 1]
            _move(first, last, candidates.entity, table, room.d_entities, state.entities, _f(lr))
            move(as_signed(share), dealt[2], relations, room.d_relations, state.relations, _f(lr))
        state.entity_steps[0] += _f(1.0)
        state.relation_steps[0] += _f(1.0)
    return loss, penalty
