"""Training steps that leave only products and exponentials to PyTorch: all else is machine code (see `kernels`).

They do what those of `step` do, for plain settings, and take a third of the time where graph and batch are small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

import numpy as np
import torch
from torch import Tensor

from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.models.cache import column_sums, rows_in_cache
from eras.models.multiply import product
from eras.scoring.query import Cells, Plan
from eras.training import kernels
from eras.training.config import TrainConfig
from eras.training.kernels import Asked, Contraction, Floats, Ints, Questions, Sizes, Tables
from eras.training.optimiser import Gradient
from eras.training.regularisers import Coupling, couplings
from eras.training.workspace import Rooms

_FEW = 1 << 18
"""Scores that one thread has exponentiated before two have met."""


class FusedStep:
    """Gradients of the block-bilinear model by log-loss among all entities and the penalties n3 and f2."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig) -> None:
        self._model, self._queries, self._config = model, queries, config
        rows = model.relation_rows(queries.relation, queries.side)
        self._questions = Questions(queries.entity, rows, queries.offsets, queries.answers)
        self._gradients = {name: torch.empty_like(table) for name, table in model.tables.items()}
        tables = [*model.tables.values(), *self._gradients.values()]
        self._tables = Tables(*(table.numpy() for table in tables))
        self._rooms = Rooms()
        self._plans: Sequence[Plan] = ()

    def gradients(self, picked: Ints) -> tuple[float, float, dict[str, Gradient]] | None:
        """Loss, penalty and gradients, which the next call overwrites; None where scores are too large for that."""
        model, config, of, tables = self._model, self._config, self._questions, self._tables
        self._know(model.plans)
        B, n, dim = len(picked), model.n_entities, model.dim
        q, dq = (self._rooms.room(purpose, B, dim, model.entities) for purpose in ("q", "dq"))
        scores, weight = self._rooms.room("scores", n, B, model.entities), np.empty(B, np.float32)
        asked = Asked(picked, model.slots(self._queries.relation[picked], self._queries.side[picked]))

        few = scores.numel() <= _FEW
        scale = 1.0 if few else kernels.LOG2_E  # powers of two are faster than those of e
        kernels.ask(asked, of, self._to_tail, tables, scale, q.numpy())
        total = self._exponentiate(q, scores, few)
        n_answers = kernels.name(asked, of, self._kinds, *self._named)
        loss = kernels.slopes(asked, of, n_answers, scores.numpy(), total.numpy(), weight)
        if not math.isfinite(loss):
            return None
        if few:
            kernels.weigh_slopes(scores.numpy(), weight)
        else:
            kernels.weigh_queries(q.numpy(), weight, 1 / scale)
        product(scores.t(), model.entities, dq)
        product(scores, q, self._gradients["entities"])
        self._gradients["relations"].zero_()
        kernels.differentiate(asked, of, self._to_head, self._to_relation, tables, dq.numpy(), weight)
        penalty = self._penalty(config.reg_weight / n_answers)
        return loss, penalty, {name: Gradient(gradient) for name, gradient in self._gradients.items()}

    def _exponentiate(self, q: Tensor, scores: Tensor, few: bool) -> Tensor:
        """Exponentials of all scores, in `scores` (n, B), and their sums, (B,)."""
        entities, total = self._model.entities, scores.new_zeros(len(q))
        if few:
            kernels.exponentiate(product(entities, q.t(), scores).numpy(), total.numpy())
            return total
        for rows in rows_in_cache(scores):
            run = self._rooms.like("run", scores[rows])  # a product is faster into memory that is in cache
            powers = torch.exp2(product(entities[rows], q.t(), run), out=scores[rows])
            total += column_sums(powers, total.dtype)
        return total

    def _penalty(self, scale: float) -> float:
        if not scale or self._config.regulariser == "none":
            return 0.0
        total, t = 0.0, self._tables
        of_tables = (t.entities, t.d_entities), (t.relations, t.d_relations)
        for (table, d_table), named, coupled in zip(of_tables, self._named, self._coupled, strict=True):
            if self._config.regulariser == "n3":
                total += kernels.n3(table, d_table, named, coupled, scale)
            else:
                total += kernels.f2(table, d_table, named, scale)
        return total

    def _know(self, plans: Sequence[Plan]) -> None:
        """Structures as the kernels take them; a supernet has others in each step."""
        if plans is self._plans:
            return
        self._plans, M = plans, plans[0].blocks
        self._to_tail = _contraction([plan.to_tail for plan in plans], M)
        self._to_head = _contraction([plan.to_head for plan in plans], M)
        self._to_relation = _contraction([plan.to_relation for plan in plans], M)
        number = {kind: i for i, kind in enumerate(dict.fromkeys(map(couplings, plans)))}
        self._kinds = np.array([number[couplings(plan)] for plan in plans])
        self._coupled = tuple(np.stack([_padded(kind[table], M) for kind in number]) for table in (0, 1))
        self._named = tuple(np.empty((len(number), len(table)), np.float32) for table in self._tables[:2])


def _contraction(structures: Sequence[Cells], M: int) -> Contraction:
    parts = [_pairs(cells, M) for cells in structures]
    starts = np.cumsum([0, *(len(pairs) for pairs, _ in parts)])
    return Contraction(M, starts, np.concatenate([p for p, _ in parts]), np.concatenate([s for _, s in parts]))


@lru_cache(maxsize=4096)
def _pairs(cells: Cells, M: int) -> tuple[Sizes, Floats]:
    """Pairs and signs, as `Contraction` has them; a block without terms gets one that is zero."""
    by_block = {c: list(terms) for c, terms in groupby(sorted(cells, key=itemgetter(2)), key=itemgetter(2))}
    pairs, signs = [], []
    for c in range(M):
        terms = by_block.get(c, [(0, 0, c, 0.0)])
        for i in range(0, len(terms), 2):
            (a, b, _, s), (d, e, _, t) = (*terms[i : i + 2], (0, 0, c, 0.0))[:2]
            pairs.append((c, a, b, d, e, i == 0))
            signs.append((s, t))
    return np.array(pairs, np.uint64), np.array(signs, np.float32)


def _padded(coupling: Coupling, M: int) -> Ints:
    padded = np.full((M, M), -1)
    for row, together in enumerate(coupling):
        padded[row, : len(together)] = together
    return padded
