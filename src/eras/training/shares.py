"""Whole steps of training as machine code, products and all: each thread takes a share of the questions.

Little but gradients goes from one thread to another, and several steps are one call: where they are short, what Python
does between two of them takes as long as a fifth of a step, and threads that wait for so long fall asleep.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import prange

from eras.compiled import numeric, threaded
from eras.training.kernels import (
    Asked,
    Floats,
    Ints,
    Named,
    Questions,
    Structures,
    Tables,
    ask,
    count,
    differentiate,
    exponentiate_rows,
    penalise,
    slopes,
    weigh,
)
from eras.training.optimiser import EPS
from eras.training.tiles import multiply, turn

Doubles = npt.NDArray[np.float64]
_f = np.float32
as_signed: Any = np.int64
"""For numbers of threads: in a second pass numba takes them as unsigned, and would compile all once more for that."""


class Room(NamedTuple):
    """Room of its own for each of C threads, which has W questions at most.

    turned: (C, n dim), entities transposed; q, dq: (C, W, dim), queries and their gradients; scores: (C, n W), and
    slopes, the same transposed; total, weight: (C, W); d_entities, d_relations: (C, rows, dim); loss, penalty: (C,).
    """

    turned: Floats
    q: Floats
    dq: Floats
    scores: Floats
    slopes: Floats
    total: Floats
    weight: Floats
    d_entities: Floats
    d_relations: Floats
    loss: Doubles
    penalty: Doubles


class Adagrad(NamedTuple):
    """The state of the optimiser: sums of squared gradients, shaped like the tables, and numbers of steps, (1,)."""

    entities: Floats
    relations: Floats
    entity_steps: Floats
    relation_steps: Floats


class Task(NamedTuple):
    """What steps are about: questions, structures, tables, room, how often rows are named, and the penalty."""

    of: Questions
    by: Structures
    entities: Floats
    relations: Floats
    room: Room
    named: Named
    power: int
    reg_weight: float


@numeric
def by_relation(asked: Asked, of: Questions, relations: int) -> tuple[Ints, Ints]:
    """The same questions in the order of their relations, so that few relations are asked about by two threads."""
    places = np.zeros(relations + 1, np.int64)
    for i in range(len(asked.question)):
        places[of.relation[asked.question[i]] + 1] += 1
    for relation in range(relations):
        places[relation + 1] += places[relation]
    question, structure = np.empty_like(asked.question), np.empty_like(asked.structure)
    for i in range(len(asked.question)):
        relation = of.relation[asked.question[i]]
        question[places[relation]], structure[places[relation]] = asked.question[i], asked.structure[i]
        places[relation] += 1
    return question, structure


@numeric
def deal(question: Ints, of: Questions, entities: int, relations: int, shares: int) -> Ints:
    """Where the questions, entities and relations of a thread begin, and where they end: (3, shares + 1).

    Its relations are those of its questions, but for the last, which may be the first of the next thread.
    """
    dealt = np.empty((3, shares + 1), np.int64)
    for share in range(shares + 1):
        first = len(question) * share // shares
        dealt[0, share], dealt[1, share] = first, entities * share // shares
        dealt[2, share] = of.relation[question[first]] if 0 < share < shares else relations * (share // shares)
    return dealt


@numeric
def _answer(share: int, dealt: Ints, question: Ints, structure: Ints, task: Task, n_answers: int) -> float:
    """A thread's questions: their loss and, in its room, their gradients."""
    of, by, entities, room, (n, dim) = task.of, task.by, task.entities, task.room, task.entities.shape
    first, last = dealt[0, share], dealt[0, share + 1]
    asked, W = Asked(question[first:last], structure[first:last]), last - first
    tables = Tables(entities, task.relations, room.d_entities[share], room.d_relations[share])
    q, dq, total, weight = room.q[share][:W], room.dq[share][:W], room.total[share][:W], room.weight[share][:W]
    turned, scores = room.turned[share].reshape(dim, n), room.scores[share][: n * W].reshape(W, n)
    slope = room.slopes[share][: n * W].reshape(n, W)
    ask(asked, of, by, tables, q)
    turn(entities.ravel(), dim, turned.ravel(), n, n, dim)
    multiply(q, turned, scores, False)
    exponentiate_rows(scores, total)
    names = task.named.entities[share], task.named.relations[share]
    loss = slopes(asked, of, by, n_answers, scores.T, total, weight, *names)
    multiply(scores, entities, dq, False)
    weigh(q, weight)
    turn(scores.ravel(), n, slope.ravel(), W, W, n)
    multiply(slope, q, tables.d_entities, False)
    tables.d_relations[dealt[2, share] : dealt[2, share + 1] + 1] = _f(0.0)
    differentiate(asked, of, by, tables, dq, weight, (0, n), (0, len(task.relations)))
    return loss


@numeric
def _gather(share: int, rows: Ints, gradients: Floats, named: Floats, dense: bool) -> None:
    """Add to a thread's gradients of its rows, and to how often they were named, what others found.

    Unless gradients are dense, those of rows that others did not name are left out: there is nothing in their room.
    """
    dim, mine, names = gradients.shape[2], gradients[share].ravel(), named[share]
    for other in range(len(gradients)):
        if other == share:
            continue
        theirs = gradients[other].ravel()
        for row in range(rows[share], rows[share + 1]):
            touched = dense
            for kind in range(len(names)):
                touched |= named[other, kind, row] > 0
                names[kind, row] += named[other, kind, row]
            if touched:
                for i in range(np.uint64(row * dim), np.uint64((row + 1) * dim)):
                    mine[i] += theirs[i]


@numeric
def _sum_up(share: int, dealt: Ints, task: Task, n_answers: int) -> float:
    """The gradients of a thread's rows, with those of their penalty, which is returned."""
    room, named = task.room, task.named
    _gather(share, dealt[1], room.d_entities, named.entities, True)
    _gather(share, dealt[2], room.d_relations, named.relations, False)
    tables = Tables(task.entities, task.relations, room.d_entities[share], room.d_relations[share])
    names = Named(named.entities[share], named.relations[share])
    e, r = (dealt[1, share], dealt[1, share + 1]), (dealt[2, share], dealt[2, share + 1])
    return penalise(task.by, tables, names, e, r, task.power, task.reg_weight / n_answers)


@numeric
def adagrad(x: Floats, at: int, dx: Floats, of: int, size: int, sums: Floats, lr: np.float32) -> None:
    """Move so many numbers from `at` on along their gradients, which begin at `of`; all is flat."""
    a, b = np.uint64(at), np.uint64(of)
    for i in range(np.uint64(size)):
        sums[a + i] += dx[b + i] * dx[b + i]
        x[a + i] -= lr * dx[b + i] / (np.sqrt(sums[a + i]) + _f(EPS))


@numeric
def move(share: int, rows: Ints, table: Floats, gradients: Floats, sums: Floats, lr: np.float32) -> None:
    """A thread's rows."""
    dim = table.shape[1]
    first, size = rows[share] * dim, (rows[share + 1] - rows[share]) * dim
    adagrad(table.ravel(), first, gradients.ravel(), first, size, sums.ravel(), lr)


@numeric
def _collect(rows: Ints, gradients: Floats) -> None:
    """The gradients of all rows in the first room."""
    for share in range(1, len(gradients)):
        for row in range(rows[share], rows[share + 1]):
            for i in range(gradients.shape[2]):
                gradients[0, row, i] = gradients[share, row, i]


@threaded
def answer(
    asked: Asked, state: Adagrad, lr: float,
    of: Questions, by: Structures, entities: Floats, relations: Floats, room: Room, named: Named, power: int,
    reg_weight: float,
) -> tuple[float, float]:  # fmt: skip
    """Loss and penalty of a step. With a rate `lr`, the tables are moved; else their gradients are in the first room.

    Where the loss is not finite, there are no gradients; where loss or penalty are not, nothing is moved. What comes
    after `lr` is a `Task`: numba's threads are not given tuples of tuples.
    """
    losses, penalties = room.loss, room.penalty  # numba loses what threads write to a field of a tuple
    shares, n_answers, loss, penalty = len(losses), count(asked, of), 0.0, 0.0
    question, structure = by_relation(asked, of, len(relations))
    dealt = deal(question, of, len(entities), len(relations), shares)
    for share in prange(shares):
        mine = Task(of, by, entities, relations, room, named, power, reg_weight)
        losses[share] = _answer(as_signed(share), dealt, question, structure, mine, n_answers)
    for share in range(shares):
        loss += losses[share]
    if not np.isfinite(loss):
        return loss, penalty
    for share in prange(shares):
        mine = Task(of, by, entities, relations, room, named, power, reg_weight)
        penalties[share] = _sum_up(as_signed(share), dealt, mine, n_answers)
    for share in range(shares):
        penalty += penalties[share]
    if not lr:
        _collect(dealt[1], room.d_entities)
        _collect(dealt[2], room.d_relations)
    elif np.isfinite(penalty):
        for share in prange(shares):
            move(as_signed(share), dealt[1], entities, room.d_entities[share], state.entities, _f(lr))
            move(as_signed(share), dealt[2], relations, room.d_relations[share], state.relations, _f(lr))
        state.entity_steps[0] += _f(1.0)
        state.relation_steps[0] += _f(1.0)
    return loss, penalty


@numeric
def learn(asked: Asked, size: int, task: Task, state: Adagrad, lr: float, results: Doubles) -> int:
    """Take steps of `size` questions each, up to one that moves nothing; how many, and in `results` what they say.

    These are loss and penalty of each, (steps, 2). A step whose loss is not finite does not count.
    """
    for step in range(len(results)):
        some = slice(step * size, min((step + 1) * size, len(asked.question)))
        loss, penalty = answer(
            Asked(asked.question[some], asked.structure[some]), state, lr,
            task.of, task.by, task.entities, task.relations, task.room, task.named, task.power, task.reg_weight,
        )  # fmt: skip
        if not np.isfinite(loss):
            return step
        results[step, 0], results[step, 1] = loss, penalty
        if not np.isfinite(penalty):
            return step + 1
    return len(results)
