"""A set of rules at work on a graph: the scores that ranking asks for, and the reasons for a prediction."""

from __future__ import annotations

import os
import queue
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from eras.graph import TrainingView
from eras.graph.queries import Ints
from eras.rules.answering import Closed, Constants, Pad, answer, linking_rules, make_pad, path
from eras.rules.attributes import Attributes, build_attributes
from eras.rules.index import Index, build_index, inverse
from eras.rules.ruleset import BODY, RuleSet, reversed_bodies, trusted, write_rule
from eras.rules.walks import Room, make_room

Aggregation = Literal["max", "noisy-or"]


@dataclass(frozen=True)
class Reason:
    """A rule that predicts a fact, and the facts of the graph that let it: (head, relation, tail) by name."""

    rule: str
    confidence: float
    support: int
    predicted: int
    facts: list[tuple[str, str, str]]

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "facts": [list(fact) for fact in self.facts]}


class RuleRanker:
    """Answers questions by rules over the training facts of a graph.

    `budget` bounds the edges that are followed for one question; the most confident rules come first.
    """

    def __init__(
        self,
        rules: RuleSet,
        view: TrainingView,
        aggregation: Aggregation = "max",
        *,
        budget: int = 300_000,
        threads: int | None = None,
    ) -> None:
        self.rules, self.aggregation, self.budget = rules, aggregation, budget
        self.n_entities, self.n_relations = len(view.entities), len(view.relations)
        self._index = build_index(view.train, self.n_entities, self.n_relations)
        closed = rules.frame["head_entity"].is_null()
        paths = bool((~closed & rules.frame[BODY[1]].is_not_null()).any())
        self._attributes = build_attributes(self._index, paths)
        self._closed_rows = closed.arg_true().to_numpy()
        self._constant_rows = (~closed).arg_true().to_numpy()
        self._closed, self._closed_origin = _closed(rules.frame, self._closed_rows, self.n_relations)
        self._constants, self._constant_origin = _constants(
            rules.frame, self._constant_rows, self._index, self._attributes
        )
        self._threads = threads or os.cpu_count() or 1
        self._desks: queue.SimpleQueue[tuple[Room, Pad]] = queue.SimpleQueue()
        for _ in range(self._threads):
            self._desks.put((make_room(self.n_entities), make_pad(self.n_entities, self.n_relations)))

    def scores(self, entity: Ints, relation: Ints, side: Ints) -> Tensor:
        """The scores of all entities under B questions, (n_entities, B); in double precision, since ties are broken."""
        directed = side * self.n_relations + relation
        found = np.empty((len(entity), self.n_entities))

        def work(rows: range) -> None:
            room, pad = self._desks.get()
            try:
                for row in rows:
                    answer(
                        self._index,
                        self._attributes,
                        self._closed,
                        self._constants,
                        entity[row],
                        directed[row],
                        self.budget,
                        room,
                        pad,
                        self.aggregation == "noisy-or",
                        found[row],
                    )
            finally:
                self._desks.put((room, pad))

        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, (range(i, min(i + 16, len(entity))) for i in range(0, len(entity), 16))))
        return torch.from_numpy(found.T.copy())

    def because(self, head: int, relation: int, tail: int, most: int = 3) -> list[Reason]:
        """The rules that predict a fact, the most trusted first."""
        there = self._closed_reasons(head, relation, tail, most)
        reasons = [*there, *self._constant_reasons(head, relation, tail, most)]
        reasons.sort(key=lambda pair: -pair[0])
        return [reason for _, reason in reasons[:most]]

    def _closed_reasons(self, head: int, relation: int, tail: int, most: int) -> list[tuple[float, Reason]]:
        room, pad = self._desks.get()
        reasons = []
        for rule in linking_rules(self._index, self._closed, head, relation, tail, most, room):
            body = self._closed.body[rule]
            way = path(self._index, head, body, tail, room)
            steps = [d for d in body.tolist() if d >= 0]
            facts = [self._fact(u, d, v) for u, d, v in zip(way, steps, way[1:], strict=False)]
            row = int(self._closed_rows[self._closed_origin[rule]])
            reasons.append((float(self._closed.confidence[rule]), self._reason(row, facts)))
        self._desks.put((room, pad))
        return reasons

    def _constant_reasons(self, head: int, relation: int, tail: int, most: int) -> list[tuple[float, Reason]]:
        g, a, reasons = self._index, self._attributes, []
        for x, d, c in ((head, relation, tail), (tail, relation + self.n_relations, head)):
            question = _questions(g, np.array([c]), inverse(np.array([d]), self.n_relations))[0]
            if question < 0:
                continue
            begin, end = self._constants.begin[question], self._constants.begin[question + 1]
            own = a.of[a.begin[x] : a.begin[x + 1]]
            for rule in begin + np.flatnonzero(np.isin(self._constants.body[begin:end], own))[:most]:
                row = int(self._constant_rows[self._constant_origin[rule]])
                facts = self._ground(x, int(self._constants.body[rule]))
                reasons.append((float(self._constants.confidence[rule]), self._reason(row, facts)))
        return reasons

    def _ground(self, x: int, attribute: int) -> list[tuple[str, str, str]]:
        """The facts by which x has an attribute."""
        g, a = self._index, self._attributes
        first, second, end = int(a.first[attribute]), int(a.second[attribute]), int(a.entity[attribute])
        question = _questions(g, np.array([x]), np.array([first]))[0]
        answers = g.answers[g.offsets[question] : g.offsets[question + 1]].tolist()
        if second < 0:
            return [self._fact(x, first, end if end >= 0 else answers[0])]
        back = _questions(g, np.array([end]), inverse(np.array([second]), self.n_relations))[0]
        others = set(g.answers[g.offsets[back] : g.offsets[back + 1]].tolist()) - {x, end}
        middle = next(y for y in answers if y in others)
        return [self._fact(x, first, middle), self._fact(middle, second, end)]

    def _reason(self, row: int, facts: list[tuple[str, str, str]]) -> Reason:
        found = self.rules.frame.row(row, named=True)
        text = write_rule(found, self.rules.entities, self.rules.relations)
        return Reason(text, float(found["confidence"]), found["support"], found["predicted"], facts)

    def _fact(self, u: int, d: int, v: int) -> tuple[str, str, str]:
        if d >= self.n_relations:
            u, d, v = v, d - self.n_relations, u
        entities, relations = self.rules.entities, self.rules.relations
        return entities.label(u), relations.label(d), entities.label(v)


def _closed(frame: pl.DataFrame, rows: npt.NDArray[np.integer], R: int) -> tuple[Closed, npt.NDArray[np.integer]]:
    """The closed rules by directed head, each read from both of its ends, and which of `rows` each one is."""
    part = frame[rows].with_columns(trusted())
    body = part.select(BODY).fill_null(-1).to_numpy().astype(np.int32).reshape(-1, len(BODY))
    head, confidence = part["head"].to_numpy(), part["confidence"].to_numpy()
    heads = np.concatenate([head, head + R])
    bodies = np.concatenate([body, reversed_bodies(body, R)]).astype(np.int32)
    confidences = np.concatenate([confidence, confidence])
    order = np.lexsort((-confidences, heads))
    begin = np.searchsorted(heads[order], np.arange(2 * R + 1))
    return Closed(begin, np.ascontiguousarray(bodies[order]), confidences[order]), order % max(1, len(rows))


def _constants(
    frame: pl.DataFrame, rows: npt.NDArray[np.integer], g: Index, a: Attributes
) -> tuple[Constants, npt.NDArray[np.integer]]:
    """The rules with constants by head and by body, and which of `rows` each one is by head."""
    part = frame[rows].with_columns(trusted())
    confidence = part["confidence"].to_numpy()
    columns = ("head", "head_entity", *BODY[:2], "body_entity")
    head_step, head_entity, first, second, end = (part[name].fill_null(-1).to_numpy() for name in columns)
    R, n, Q = g.n_relations, g.n_entities, len(g.entity)
    head = _questions(g, head_entity, inverse(head_step, R))
    paths = (a.first[Q + 2 * R :].astype(np.int64) * 2 * R + a.second[Q + 2 * R :]) * n + a.entity[Q + 2 * R :]
    wanted = (first.astype(np.int64) * 2 * R + second) * n + end
    body = np.where(
        second >= 0,
        Q + 2 * R + np.searchsorted(paths, wanted),
        np.where(end < 0, Q + first, _questions(g, end, inverse(first, R))),
    )
    by_head = np.lexsort((-confidence, head))
    by_body = np.lexsort((head, body))
    rules = Constants(
        np.searchsorted(head[by_head], np.arange(Q + 1)),
        body[by_head].astype(np.int32),
        confidence[by_head],
        np.searchsorted(body[by_body], np.arange(len(a.entity) + 1)),
        head[by_body].astype(np.int32),
        confidence[by_body],
    )
    return rules, by_head


def _questions(g: Index, entity: npt.NDArray[np.integer], directed: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The questions of these entities by these directed relations; −1 where there is none."""
    keys = g.directed.astype(np.int64) * g.n_entities + g.entity
    wanted = directed.astype(np.int64) * g.n_entities + entity
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)
