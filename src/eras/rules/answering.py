"""Questions answered by rules: which of them fire, the most confident first, and what their order makes of ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eras.compiled import compiled
from eras.rules.attributes import Attributes
from eras.rules.index import Index, Int32s
from eras.rules.walks import Room, find, length_of, reach, turn

LEAST = 1e-9
"""The score of an entity that no rule predicts is below this, which is below every confidence."""


class Closed(NamedTuple):
    """Closed rules by directed head relation, the most confident first."""

    begin: npt.NDArray[np.int64]
    """(2R + 1,) Where the rules of a head begin."""
    body: Int32s
    """(k, 5) Directed relations from the one end of the head to the other; −1 after the last."""
    confidence: npt.NDArray[np.float32]
    """(k,)"""


class Constants(NamedTuple):
    """Rules between attributes, by head with the most confident first, and by body."""

    begin: npt.NDArray[np.int64]
    """(Q + 1,) Where the rules of a head begin."""
    body: Int32s
    """(k,)"""
    confidence: npt.NDArray[np.float32]
    """(k,)"""
    body_begin: npt.NDArray[np.int64]
    """(K + 1,) Where the rules of a body begin in the next two."""
    head_of: Int32s
    """(k,) Their heads, ascending."""
    confidence_of: npt.NDArray[np.float32]
    """(k,)"""


class Pad(NamedTuple):
    """What one thread writes into while it answers: what each candidate is predicted by, as a node of a trie.

    The path from the root to a candidate's node spells the confidences of the rules that predict it, in descending
    order. Rules come in that order, so children are made best first, and the candidates in the order of a walk that
    visits children before their parent are ranked by maximum confidence, ties by the next best rule, and so on.
    """

    node: Int32s
    """(n,) The node of a candidate; 0, the root, if nothing predicts it."""
    best: npt.NDArray[np.float32]
    """(n,) The confidence of its best rule."""
    doubt: npt.NDArray[np.float64]
    """(n,) Σ log(1 − confidence)"""
    has: npt.NDArray[np.bool_]
    """(2R,) The directed relations of the entity asked about."""
    value: npt.NDArray[np.float32]
    parent: Int32s
    child: Int32s
    last: Int32s
    sibling: Int32s
    """(nodes,) Confidence of a node, its parent, its first child, its last child, the next child of its parent."""
    place: Int32s
    """(nodes,) The place of a node in that walk, from 1."""


def make_pad(n_entities: int, n_relations: int, nodes: int = 1 << 20) -> Pad:
    return Pad(
        np.zeros(n_entities, np.int32),
        np.zeros(n_entities, np.float32),
        np.zeros(n_entities, np.float64),
        np.zeros(2 * n_relations, np.bool_),
        np.zeros(nodes, np.float32),
        *(np.zeros(nodes, np.int32) for _ in range(5)),
    )


@compiled
def _hit(pad: Pad, candidate: int, confidence: np.float32, nodes: int) -> int:
    """Note that a rule predicts a candidate; the number of nodes after that."""
    node = pad.node[candidate]
    if node == 0:
        pad.best[candidate] = confidence
    pad.doubt[candidate] += np.log1p(-min(float(confidence), 0.999999))
    last = pad.last[node]
    if last == 0 or pad.value[last] != confidence:
        new, nodes = nodes, nodes + 1
        pad.value[new], pad.parent[new] = confidence, node
        pad.child[new] = pad.last[new] = pad.sibling[new] = 0
        if last == 0:
            pad.child[node] = new
        else:
            pad.sibling[last] = new
        pad.last[node] = new
        last = new
    pad.node[candidate] = last
    return nodes


@compiled
def _rank_nodes(pad: Pad) -> int:
    """Give every node its place, children before their parent; the number of places."""
    node, place, descend = 0, 0, True
    while True:
        while descend and pad.child[node]:
            node = pad.child[node]
        place += 1
        pad.place[node] = place
        if node == 0:
            return place
        descend = pad.sibling[node] != 0
        node = pad.sibling[node] if descend else pad.parent[node]


@compiled
def _fired_by(g: Index, a: Attributes, rules: Constants, x: int, d: int) -> tuple[Int32s, npt.NDArray[np.float32]]:
    """What rules d(x, c) ← … predict of x: the constants c and the confidences, the highest first."""
    turned = turn(d, len(g.first) - 1)
    low, high = g.first[turned], g.first[turned + 1]
    found, confidence, filled = np.empty(256, np.int32), np.empty(256, np.float32), 0
    for body in a.of[a.begin[x] : a.begin[x + 1]]:
        begin, end = rules.body_begin[body], rules.body_begin[body + 1]
        begin += np.searchsorted(rules.head_of[begin:end], low)
        while begin < end and rules.head_of[begin] < high:
            if filled == len(found):
                found = np.concatenate((found, np.empty_like(found)))
                confidence = np.concatenate((confidence, np.empty_like(confidence)))
            found[filled], confidence[filled] = g.entity[rules.head_of[begin]], rules.confidence_of[begin]
            filled += 1
            begin += 1
    order = np.argsort(-confidence[:filled], kind="mergesort")
    return found[:filled][order], confidence[:filled][order]


@compiled
def answer(
    g: Index,
    a: Attributes,
    closed: Closed,
    constants: Constants,
    x: int,
    d: int,
    budget: int,
    room: Room,
    pad: Pad,
    noisy: bool,
    scores: npt.NDArray[np.float64],
) -> None:
    """Who does d lead to from x? Fill `scores` (n,) so that their order is that of the predictions.

    Rules are applied in the order of their confidence until they end, `budget` edges were followed or the pad is full.
    The score is the confidence of the best rule, enlarged by less than single precision can tell so that ties are
    broken; or, with `noisy`, −log Π (1 − confidence) over all rules. Entities that no rule predicts come last, in the
    order of how often d leads to them from anywhere.
    """
    pad.node[:], pad.best[:], pad.doubt[:] = 0, 0, 0
    pad.child[0] = pad.last[0] = 0
    nodes, most = 1, len(pad.value)
    for i in range(g.at[x], g.at[x + 1]):
        pad.has[g.directed_at[i]] = True
    single, single_confidence = _fired_by(g, a, constants, x, d)
    question = find(g, x, d)
    rule, rule_end = closed.begin[d], closed.begin[d + 1]
    many, many_end = (constants.begin[question], constants.begin[question + 1]) if question >= 0 else (0, 0)
    one, edges = 0, len(single)
    while edges < budget and nodes < most:
        while rule < rule_end and not pad.has[closed.body[rule, 0]]:
            rule += 1
        first = closed.confidence[rule] if rule < rule_end else np.float32(-1)
        second = constants.confidence[many] if many < many_end else np.float32(-1)
        third = single_confidence[one] if one < len(single) else np.float32(-1)
        if max(first, second, third) < 0:
            break
        if first >= max(second, third):
            count, followed = reach(g, x, closed.body[rule], room)
            edges += followed
            if nodes + count > most:
                break
            for y in room.nodes[length_of(closed.body[rule]) - 1, :count]:
                nodes = _hit(pad, y, first, nodes)
            rule += 1
        elif second >= third:
            body = constants.body[many]
            begin, end = a.member_begin[body], a.member_begin[body + 1]
            edges += end - begin
            if nodes + end - begin > most:
                break
            for y in a.member[begin:end]:
                nodes = _hit(pad, y, second, nodes)
            many += 1
        else:
            nodes = _hit(pad, single[one], third, nodes)
            one += 1
    for i in range(g.at[x], g.at[x + 1]):
        pad.has[g.directed_at[i]] = False
    places = _rank_nodes(pad)
    for y in range(len(scores)):
        tie = 1.0 - pad.place[pad.node[y]] / places
        scores[y] = -pad.doubt[y] if noisy else pad.best[y] * (1.0 + tie / (1 << 25))
    turned = turn(d, len(g.first) - 1)
    total = g.offsets[g.first[turned + 1]] - g.offsets[g.first[turned]] + 1
    for q in range(g.first[turned], g.first[turned + 1]):
        if pad.node[g.entity[q]] == 0:
            scores[g.entity[q]] = LEAST * (g.offsets[q + 1] - g.offsets[q]) / total


@compiled
def linking_rules(g: Index, closed: Closed, x: int, d: int, y: int, most: int, room: Room) -> npt.NDArray[np.int64]:
    """The numbers of the first closed rules, at most so many, that say that d leads from x to y."""
    found, filled = np.empty(most, np.int64), 0
    for rule in range(closed.begin[d], closed.begin[d + 1]):
        count, _ = reach(g, x, closed.body[rule], room)
        if count and room.mark[length_of(closed.body[rule]) - 1, y] == room.walk[0]:
            found[filled] = rule
            filled += 1
            if filled == most:
                break
    return found[:filled]


@compiled
def path(g: Index, x: int, body: Int32s, y: int, room: Room) -> Int32s:
    """The entities on a way from x to y by a body that leads there, both included; the way never turns back."""
    reach(g, x, body, room)
    length = length_of(body)
    way = np.empty(length + 1, np.int32)
    way[0], way[length] = x, y
    for step in range(length - 1, 0, -1):
        question = find(g, way[step + 1], turn(body[step], len(g.first) - 1))
        for u in g.answers[g.offsets[question] : g.offsets[question + 1]]:
            if room.mark[step - 1, u] == room.walk[0] and u != x and u != way[step + 1]:
                way[step] = u
                if step == length - 1 or u != way[step + 2]:
                    break
    return way
