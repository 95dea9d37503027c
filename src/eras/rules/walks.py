"""Closed rules: bodies are drawn by walks from both ends of a fact, and measured by walks from a sample of starts.

All of this is compiled, and releases the interpreter lock. Why numba and not sparse products: a body that passes
through hubs makes a nearly dense product, of which a few starts are all that a confidence needs; a question needs the
row of one entity only; and both ask that variables stand for different entities, which a product cannot say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eras.compiled import compiled
from eras.rules.index import LONGEST, Index, Int32s


class Room(NamedTuple):
    """What one thread writes into while it walks: the entities at each step, and when they were last seen there."""

    mark: npt.NDArray[np.int64]
    """(5, n) The walk that last came to an entity with that step."""
    nodes: Int32s
    """(5, n) The entities that a walk came to with that step, in the order of their discovery."""
    via: Int32s
    """(5, n) The entity from which a walk came there with that step; −1 if there are several."""
    walk: npt.NDArray[np.int64]
    """(1,) The number of the walk."""


def make_room(n_entities: int) -> Room:
    return Room(
        np.zeros((LONGEST, n_entities), np.int64),
        np.empty((LONGEST, n_entities), np.int32),
        np.empty((LONGEST, n_entities), np.int32),
        np.zeros(1, np.int64),
    )


@compiled
def _place(values: Int32s, low: int, high: int, wanted: int) -> int:
    """Where a value is in a part of an array that ascends there; −1 where it is not."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == wanted else -1


@compiled
def find(g: Index, x: int, d: int) -> int:
    """The question (x, d), −1 where x has no such edge."""
    place = _place(g.directed_at, g.at[x], g.at[x + 1], d)
    return g.question_at[place] if place >= 0 else -1


@compiled
def leads_to(g: Index, question: int, y: int) -> bool:
    """Whether y is an answer of the question."""
    return _place(g.answers, g.offsets[question], g.offsets[question + 1], y) >= 0


@compiled
def reach(g: Index, x: int, body: Int32s, room: Room) -> tuple[int, int]:
    """How many entities the body leads to from x, and how many edges were followed to see that.

    The entities are in the row of `room.nodes` for the last step. The variables of a body stand for different entities:
    a walk never stays where it is, never returns to x and never turns back. (Up to three atoms that is all it takes.)
    """
    room.walk[0] += 1
    walk = room.walk[0]
    count, edges = 1, 0
    for step in range(LONGEST):
        if body[step] < 0:
            break
        found = 0
        for i in range(count):
            u = x if step == 0 else room.nodes[step - 1, i]
            question = find(g, u, body[step])
            if question < 0:
                continue
            begin, end = g.offsets[question], g.offsets[question + 1]
            edges += end - begin
            for p in range(begin, end):
                v = g.answers[p]
                if v in (x, u) or (step > 1 and room.via[step - 1, u] == v):
                    continue
                if room.mark[step, v] != walk:
                    room.mark[step, v] = walk
                    room.nodes[step, found] = v
                    room.via[step, v] = u
                    found += 1
                elif room.via[step, v] != u:
                    room.via[step, v] = -1
        count = found
        if count == 0:
            break
    return count, edges


@compiled
def length_of(body: Int32s) -> int:
    length = 0
    while length < LONGEST and body[length] >= 0:
        length += 1
    return length


@compiled
def measure(
    g: Index, bodies: Int32s, rng: np.random.Generator, budget: int, fewest: int, least: int, room: Room
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of each body (k, 5): how many pairs (x, y) it links, (k,), and how many of them each directed relation links.

    The latter come as rows (body, directed relation, pairs), for at least `least` pairs. The pairs of one start x are
    always taken together; starts come in random order until `budget` edges were followed and `fewest` starts had.
    """
    predicted = np.zeros(len(bodies), np.int64)
    correct = np.zeros(len(g.first) - 1, np.int64)
    rows, filled = np.empty((256, 3), np.int64), 0
    for k in range(len(bodies)):
        body = bodies[k]
        length = length_of(body)
        begin, starts = g.first[body[0]], g.first[body[0] + 1] - g.first[body[0]]
        stride, place = _stride(starts, rng), int(rng.random() * starts)
        correct[:] = 0
        edges, taken = 0, 0
        while taken < starts and (edges < budget or taken < fewest):
            x = g.entity[begin + place]
            place = (place + stride) % starts
            taken += 1
            count, followed = reach(g, x, body, room)
            predicted[k] += count
            edges += followed + (_add_links(g, x, length - 1, count, room, correct) if count else 1)
        for d in range(len(correct)):
            if correct[d] >= least and not (length == 1 and body[0] == d):
                if filled == len(rows):
                    rows = np.concatenate((rows, np.empty_like(rows)))
                rows[filled, 0], rows[filled, 1], rows[filled, 2] = k, d, correct[d]
                filled += 1
    return predicted, rows[:filled]


@compiled
def _add_links(g: Index, x: int, step: int, count: int, room: Room, links: npt.NDArray[np.int64]) -> int:
    """Add, for each directed relation, to how many of the entities of a walk's step it leads from x; the work it was.

    Where there are few of those they are looked up among the answers, otherwise the answers are looked at.
    """
    work = 0
    for i in range(g.at[x], g.at[x + 1]):
        question = g.question_at[i]
        begin, end = g.offsets[question], g.offsets[question + 1]
        if count * 16 < end - begin:
            work += count
            for y in room.nodes[step, :count]:
                links[g.directed_at[i]] += leads_to(g, question, y)
        else:
            work += end - begin
            for y in g.answers[begin:end]:
                links[g.directed_at[i]] += room.mark[step, y] == room.walk[0]
    return work


@compiled
def _stride(size: int, rng: np.random.Generator) -> int:
    """A step that visits each of `size` places once."""
    while True:
        step = 1 + int(rng.random() * size)
        a, b = step, size
        while b:
            a, b = b, a % b
        if a == 1:
            return step


@compiled
def _neighbour(g: Index, x: int, rng: np.random.Generator) -> tuple[int, int]:
    """A directed relation of x, each as likely, and one of its answers."""
    i = g.at[x] + int(rng.random() * (g.at[x + 1] - g.at[x]))
    question = g.question_at[i]
    begin, end = g.offsets[question], g.offsets[question + 1]
    return g.directed_at[i], g.answers[begin + int(rng.random() * (end - begin))]


@compiled
def draw_bodies(g: Index, draws: int, lengths: Int32s, rng: np.random.Generator) -> Int32s:
    """Bodies that link the two ends of random facts, (k, 5), each as often as it was met.

    Half of the facts are drawn evenly from questions, half evenly from relations. From both ends of a fact steps are
    taken at random, one for each atom but one; every relation that joins where they lead completes a body. `lengths`
    says for how many atoms that is tried with each fact.
    """
    n_directed = len(g.first) - 1
    rows, filled = np.empty((1024, LONGEST), np.int32), 0
    steps = np.empty(LONGEST, np.int32)
    for _ in range(draws):
        if rng.random() < 0.5:
            question = int(rng.random() * len(g.entity))
        else:
            d = int(rng.random() * n_directed)
            size = g.first[d + 1] - g.first[d]
            if size == 0:
                continue
            question = g.first[d] + int(rng.random() * size)
        begin, end = g.offsets[question], g.offsets[question + 1]
        x, y = g.entity[question], g.answers[begin + int(rng.random() * (end - begin))]
        for length in lengths:
            z, w, gap = x, y, length // 2
            for step in range(gap):
                steps[step], z = _neighbour(g, z, rng)
            for step in range(length - 1, gap, -1):
                back, w = _neighbour(g, w, rng)
                steps[step] = turn(back, n_directed)
            if z in (w, y) or w == x:
                continue
            for i in range(g.at[z], g.at[z + 1]):
                if leads_to(g, g.question_at[i], w):
                    if filled == len(rows):
                        rows = np.concatenate((rows, np.empty_like(rows)))
                    rows[filled] = -1
                    rows[filled, :length] = steps[:length]
                    rows[filled, gap] = g.directed_at[i]
                    _face(g, rows[filled], length)
                    filled += 1
    return rows[:filled]


@compiled
def turn(d: int, n_directed: int) -> int:
    """The directed relation that leads back."""
    half = n_directed // 2
    return d - half if d >= half else d + half


@compiled
def _face(g: Index, body: Int32s, length: int) -> None:
    """Turn a body round if its other end has fewer starts: a body and its reverse link the same entities."""
    D = len(g.first) - 1
    other = np.empty(length, np.int32)
    for i in range(length):
        other[i] = turn(body[length - 1 - i], D)
    starts = g.first[body[0] + 1] - g.first[body[0]]
    fewer = g.first[other[0] + 1] - g.first[other[0]] - starts
    for i in range(length):
        if fewer == 0:
            fewer = other[i] - body[i]
    if fewer < 0:
        body[:length] = other
