"""Training steps that leave only products and exponentials to PyTorch: all else is machine code (see `kernels`).

They do what those of `step` do, for plain settings, and take a third of the time where graph and batch are small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.models.cache import column_sums, rows_in_cache
from eras.models.multiply import product
from eras.scoring.query import Plan
from eras.training import kernels
from eras.training.config import TrainConfig
from eras.training.kernels import Asked, Contraction, Floats, Ints, Questions, Tables
from eras.training.optimiser import Gradient
from eras.training.products import LOG2_E
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
        scale = 1.0 if few else LOG2_E  # powers of two are faster than those of e
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
        structure, head, relation, tail, sign = np.array(
            [(n, *cell) for n, plan in enumerate(plans) for cell in plan.to_tail], np.float32
        ).T
        key, h, r, t = (column.astype(np.int64) for column in (M * structure, head, relation, tail))
        sizes = M, len(plans)
        self._to_tail = _contraction(*sizes, key + t, h, r, sign)
        self._to_head = _contraction(*sizes, key + h, t, r, sign)
        self._to_relation = _contraction(*sizes, key + r, h, t, sign)
        kinds = [couplings(plan) for plan in plans]
        number = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
        self._kinds = np.array([number[kind] for kind in kinds])
        self._coupled = tuple(np.stack([_padded(kind[table], M) for kind in number]) for table in (0, 1))
        self._named = tuple(np.empty((len(number), len(table)), np.float32) for table in self._tables[:2])


def _contraction(M: int, structures: int, key: Ints, a: Ints, b: Ints, sign: Floats) -> Contraction:
    """Terms ± x_a ∘ y_b of block c of structure n, for key = M n + c; a block without terms gets a pair of zeros."""
    order = np.argsort(key, kind="stable")
    key, a, b, sign = key[order], a[order], b[order], sign[order]
    counts = np.bincount(key, minlength=M * structures)
    ends = np.cumsum(np.maximum(1, (counts + 1) // 2))
    firsts = np.append(0, ends[:-1])
    nth = np.arange(len(key)) - np.repeat(np.cumsum(counts) - counts, counts)
    pair, second = firsts[key] + nth // 2, nth % 2
    pairs, signs = np.zeros((ends[-1], 6), np.uint64), np.zeros((ends[-1], 2), np.float32)
    pairs[:, 0] = np.repeat(np.arange(M * structures) % M, ends - firsts)
    pairs[pair, 1 + 2 * second], pairs[pair, 2 + 2 * second], signs[pair, second] = a, b, sign
    pairs[firsts, 5] = 1
    return Contraction(M, np.append(firsts[::M], ends[-1]), pairs, signs)


def _padded(coupling: Coupling, M: int) -> Ints:
    padded = np.full((M, M), -1)
    for row, together in enumerate(coupling):
        padded[row, : len(together)] = together
    return padded
