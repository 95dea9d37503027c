"""Training steps as machine code (see `kernels`): they do what those of `step` do, for plain settings, in less time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from eras.compiled import team, threads_of_pytorch
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.models.cache import rows_in_cache
from eras.models.multiply import onednn_is_exact, product
from eras.scoring.query import Plan
from eras.training import kernels, rows, shares
from eras.training.blas import BLAS_FOUND
from eras.training.config import TrainConfig
from eras.training.kernels import Asked, Floats, Ints, Named, Questions, Structures, Tables
from eras.training.optimiser import Gradient, Optimiser
from eras.training.products import LOG2_E
from eras.training.rows import RowRoom
from eras.training.shares import Adagrad, Room, Task
from eras.training.structures import structures_of
from eras.training.workspace import Rooms

_FEW = 1 << 20
"""Numbers in a table, or scores, up to which a thread is faster with a share of the questions.

Beyond, they leave its cache, and the threads' gradients of the entity table take long to add up.
"""

_LITTLE = 1 << 22
"""Coordinates of the questions of a step, times threads, up to which one thread does what is not a product."""

_LEAST = 16
"""Questions that a thread is given; with fewer, products take longer for each."""

_NO_STATE = Adagrad(*(np.empty(shape, np.float32) for shape in ((0, 0), (0, 0), 1, 1)))

_POWERS = {"none": 0, "f2": 2, "n3": 3}


def fused_step(model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> FusedStep | None:
    """The kind of step that is fastest; None where that is one by PyTorch."""
    if BLAS_FOUND and model.n_entities * max(config.batch_size, 2 * model.dim) <= _FEW:
        return SharedStep(model, queries, config, optimiser)
    if BLAS_FOUND and not onednn_is_exact():
        return RowStep(model, queries, config, optimiser)
    if config.batch_size * model.dim * torch.get_num_threads() <= _LITTLE:
        return JointStep(model, queries, config)
    return None


class FusedStep(ABC):
    """Gradients of the block-bilinear model by log-loss among all entities and the penalties n3 and f2."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, shares: int) -> None:
        self._model, self._queries, self._reg_weight, self._shares = model, queries, config.reg_weight, shares
        self._power = _POWERS[config.regulariser] if config.reg_weight else 0
        relations = model.relation_rows(queries.relation, queries.side)
        self._questions = Questions(queries.entity, relations, queries.offsets, queries.answers)
        self._entities, self._relations = model.entities.numpy(), model.relations.numpy()
        self._plans: Sequence[Plan] = ()
        self._by: Structures
        self._named: Named

    def learn(self, picked: Ints, epoch: int) -> list[tuple[float, float]]:
        """Take steps; loss and penalty of each, up to the first that is left to others."""
        return []

    def gradients(self, picked: Ints) -> tuple[float, float, dict[str, Gradient]] | None:
        """Loss, penalty and gradients, which the next call overwrites; None where scores are too large for that."""
        loss, penalty, d_entities, d_relations = self._answer(self._asked(picked))
        if not math.isfinite(loss):
            return None
        return loss, penalty, {"entities": Gradient(d_entities), "relations": Gradient(d_relations)}

    @abstractmethod
    def _answer(self, asked: Asked) -> tuple[float, float, Tensor, Tensor]:
        """Loss, penalty and gradients; a loss that is not finite where scores are too large."""

    def _asked(self, picked: Ints) -> Asked:
        model, queries = self._model, self._queries
        if self._plans is not model.plans:  # a supernet has others in each step
            self._plans, self._by = model.plans, structures_of(model.plans, model.dim)
            kinds = self._shares, len(self._by.coupled_entities)
            self._named = Named(*(np.empty((*kinds, len(x)), np.float32) for x in (self._entities, self._relations)))
        return Asked(picked, model.slots(queries.relation[picked], queries.side[picked]))


class TeamStep(FusedStep):
    """Each thread does its part of a step, products and Adagrad included."""

    def __init__(
        self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser, shares: int
    ) -> None:
        super().__init__(model, queries, config, shares)
        self._optimiser, self._moves = optimiser, config.optimiser == "adagrad" and not config.unit_ball
        self._size, self._state = config.batch_size, _NO_STATE
        if self._moves:
            sums, steps = ([optimiser.state()[f"{table}.{key}"] for table in model.tables] for key in ("sum", "step"))
            self._state = Adagrad(*(x.numpy() for x in sums), *(x.view(1).numpy() for x in steps))


class SharedStep(TeamStep):
    """Each thread takes the whole step for a share of the questions, so most of what it needs stays in its cache."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> None:
        C = max(1, min(threads_of_pytorch(), config.batch_size // _LEAST))
        super().__init__(model, queries, config, optimiser, C)
        W = math.ceil(config.batch_size / C)
        d_entities, d_relations = _room(C, *self._entities.shape), _room(C, *self._relations.shape)
        scores, q = _room(C, model.n_entities * W), _room(C, W, model.dim)
        self._room = Room(q, scores, _room(C, W), _room(C, W), d_entities, d_relations, np.empty(C), np.empty(C))
        self._gradients = torch.from_numpy(d_entities[0]), torch.from_numpy(d_relations[0])

    def learn(self, picked: Ints, epoch: int) -> list[tuple[float, float]]:
        if not self._moves:
            return []
        results, asked = np.empty((math.ceil(len(picked) / self._size), 2)), self._asked(picked)
        with team(self._shares):
            taken = shares.learn(asked, self._size, self._task(), self._state, self._optimiser.lr(epoch), results)
        return [(loss, penalty) for loss, penalty in results[:taken].tolist()]

    def _answer(self, asked: Asked) -> tuple[float, float, Tensor, Tensor]:
        with team(self._shares):
            loss, penalty = shares.answer(asked, self._state, 0.0, *self._task())
        return loss, penalty, *self._gradients

    def _task(self) -> Task:
        tables = self._entities, self._relations
        return Task(self._questions, self._by, *tables, self._room, self._named, self._power, self._reg_weight)


class RowStep(TeamStep):
    """Each thread takes the whole step for its rows of the tables, which no other thread ever writes."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> None:
        C, B, dim = threads_of_pytorch(), min(config.batch_size, len(queries)), model.dim
        super().__init__(model, queries, config, optimiser, C)
        self._gradients = torch.empty_like(model.entities), torch.empty_like(model.relations)
        d_entities, d_relations = (gradient.numpy() for gradient in self._gradients)
        q, dq, scores = _room(B, dim), _room(C, B, dim), _room(model.n_entities, B)
        self._room = RowRoom(q, dq, scores, _room(C, B), _room(B), d_entities, d_relations, np.empty(C), np.empty(C))

    def learn(self, picked: Ints, epoch: int) -> list[tuple[float, float]]:
        if not self._moves:
            return []
        loss, penalty = self._take(self._asked(picked[: self._size]), self._optimiser.lr(epoch))
        return [(loss, penalty)] if math.isfinite(loss) else []

    def _answer(self, asked: Asked) -> tuple[float, float, Tensor, Tensor]:
        return *self._take(asked, 0.0), *self._gradients

    def _take(self, asked: Asked, lr: float) -> tuple[float, float]:
        task = self._questions, self._by, self._entities, self._relations, self._room, self._named
        with team(self._shares):
            return rows.answer(asked, self._state, lr, *task, self._power, self._reg_weight)


class JointStep(FusedStep):
    """All threads do one product, then the next, and exponentials; one thread does the rest."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig) -> None:
        super().__init__(model, queries, config, 1)
        self._gradients = torch.empty_like(model.entities), torch.empty_like(model.relations)
        self._tables = Tables(self._entities, self._relations, *(gradient.numpy() for gradient in self._gradients))
        self._rooms, self._threads = Rooms(), threads_of_pytorch()

    def _answer(self, asked: Asked) -> tuple[float, float, Tensor, Tensor]:
        of, by, tables, entities = self._questions, self._by, self._tables, self._model.entities
        d_entities, d_relations = self._gradients
        B, n, dim = len(asked.question), self._model.n_entities, self._model.dim
        q, dq = (self._rooms.room(purpose, B, dim, entities) for purpose in ("q", "dq"))
        scores, weight = self._rooms.room("scores", n, B, entities), np.empty(B, np.float32)

        kernels.ask(asked, of, by, tables, LOG2_E, q.numpy())  # powers of two are faster than those of e
        total = self._exponentiate(q, scores)
        n_answers, names = kernels.count(asked, of), Named(self._named.entities[0], self._named.relations[0])
        loss = kernels.slopes(asked, of, by, n_answers, scores.numpy(), total.numpy(), weight, *names)
        if not math.isfinite(loss):
            return loss, 0.0, d_entities, d_relations
        kernels.weigh_queries(q.numpy(), weight, 1 / LOG2_E)
        product(scores.t(), entities, dq)
        product(scores, q, d_entities)
        d_relations.zero_()
        all_rows = (0, n), (0, len(d_relations))
        kernels.differentiate(asked, of, by, tables, dq.numpy(), weight, *all_rows)
        penalty = kernels.penalise(by, tables, names, *all_rows, self._power, self._reg_weight / n_answers)
        return loss, penalty, d_entities, d_relations

    def _exponentiate(self, q: Tensor, scores: Tensor) -> Tensor:
        """Powers of two of all scores, in `scores` (n, B), and their sums, (B,)."""
        entities, total = self._model.entities, scores.new_zeros(len(q))
        sums = np.empty((self._threads, len(q)), np.float32)
        for some in rows_in_cache(scores):
            run = self._rooms.like("run", scores[some])  # a product is faster into memory that is in cache
            product(entities[some], q.t(), run)
            with team(self._threads):
                kernels.exponentiate_by_all(run.numpy(), scores[some].numpy(), sums)
            total += torch.from_numpy(sums).sum(0)
        return total


def _room(*shape: int) -> Floats:
    return torch.empty(shape).numpy()  # it begins where a line of the cache does, always
