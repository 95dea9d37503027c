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
from eras.scoring.query import Plan
from eras.training import rows, shares
from eras.training.config import TrainConfig
from eras.training.kernels import Asked, Floats, Ints, Named, Questions, Structures
from eras.training.optimiser import Gradient, Optimiser
from eras.training.rows import TILE, RowRoom
from eras.training.shares import Adagrad, Room, Task
from eras.training.structures import structures_of
from eras.training.tiles import TILES_FOUND
from eras.training.workspace import Rooms

_FEW = 1 << 20
"""Numbers in a table, or scores, up to which a thread is faster with a share of the questions.

Beyond, they leave its cache, and the threads' gradients of the entity table take long to add up.
"""

_LEAST = 16
"""Questions that a thread is given; with fewer, products take longer for each."""

_NO_STATE = Adagrad(*(np.empty(shape, np.float32) for shape in ((0, 0), (0, 0), 1, 1)))

_POWERS = {"none": 0, "f2": 2, "n3": 3}


def fused_step(model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> FusedStep | None:
    """The kind of step that is fastest; None where PyTorch does not have what they need."""
    if not TILES_FOUND:
        return None
    few = model.n_entities * max(config.batch_size, 2 * model.dim) <= _FEW
    return (SharedStep if few else RowStep)(model, queries, config, optimiser)


class FusedStep(ABC):
    """Steps of the block-bilinear model by log-loss among all entities, Adagrad and the penalties n3 and f2.

    Every thread does a part of all that a step needs, products included.
    """

    def __init__(
        self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser, shares: int
    ) -> None:
        self._model, self._queries, self._shares, self._size = model, queries, shares, config.batch_size
        self._power, self._reg_weight = _POWERS[config.regulariser] if config.reg_weight else 0, config.reg_weight
        relations = model.relation_rows(queries.relation, queries.side)
        self._questions = Questions(queries.entity, relations, queries.offsets, queries.answers)
        self._entities, self._relations = model.entities.numpy(), model.relations.numpy()
        self._plans: Sequence[Plan] = ()
        self._by: Structures
        self._named: Named
        self._optimiser, self._moves = optimiser, config.optimiser == "adagrad" and not config.unit_ball
        self._state = _NO_STATE
        if self._moves:
            sums, steps = ([optimiser.state()[f"{table}.{key}"] for table in model.tables] for key in ("sum", "step"))
            self._state = Adagrad(*(x.numpy() for x in sums), *(x.view(1).numpy() for x in steps))

    def learn(self, picked: Ints, epoch: int) -> list[tuple[float, float]]:
        """Take steps; loss and penalty of each, up to the first that is left to others."""
        if not self._moves:
            return []
        with team(self._shares):
            return self._run(picked, self._optimiser.lr(epoch))

    def gradients(self, picked: Ints) -> tuple[float, float, dict[str, Gradient]] | None:
        """Loss, penalty and gradients, which the next call overwrites; None where scores are too large for that."""
        with team(self._shares):
            loss, penalty = self._answer(picked, 0.0)
        if not math.isfinite(loss):
            return None
        return loss, penalty, {name: Gradient(values) for name, values in self._gradients.items()}

    @property
    @abstractmethod
    def _gradients(self) -> dict[str, Tensor]:
        """Where `_answer` leaves them."""

    @abstractmethod
    def _run(self, picked: Ints, lr: float) -> list[tuple[float, float]]:
        """As `learn`."""

    @abstractmethod
    def _answer(self, picked: Ints, lr: float) -> tuple[float, float]:
        """Loss and penalty of one step. The former is not finite where scores are too large, and nothing is done then.

        With a rate `lr`, the tables are moved; with 0, gradients are left.
        """

    def _asked(self, picked: Ints) -> Asked:
        model, queries = self._model, self._queries
        if self._plans is not model.plans:  # a supernet has others in each step
            self._plans, self._by = model.plans, structures_of(model.plans, model.dim)
            kinds = self._shares, len(self._by.coupled_entities)
            self._named = Named(*(np.empty((*kinds, len(x)), np.float32) for x in (self._entities, self._relations)))
        return Asked(picked, model.slots(queries.relation[picked], queries.side[picked]))


class SharedStep(FusedStep):
    """Each thread takes the whole step for a share of the questions, so most of what it needs stays in its cache."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> None:
        C = max(1, min(threads_of_pytorch(), config.batch_size // _LEAST))
        super().__init__(model, queries, config, optimiser, C)
        (n, dim), W = self._entities.shape, math.ceil(config.batch_size / C)
        d_entities, d_relations = _room(C, n, dim), _room(C, *self._relations.shape)
        self._room = Room(
            _room(C, n * dim), _room(C, W, dim), _room(C, W, dim), _room(C, n * W), _room(C, n * W),
            _room(C, W), _room(C, W), d_entities, d_relations, np.empty(C), np.empty(C),
        )  # fmt: skip

    @property
    def _gradients(self) -> dict[str, Tensor]:
        room = self._room
        return {"entities": torch.from_numpy(room.d_entities[0]), "relations": torch.from_numpy(room.d_relations[0])}

    def _run(self, picked: Ints, lr: float) -> list[tuple[float, float]]:
        results, asked = np.empty((math.ceil(len(picked) / self._size), 2)), self._asked(picked)
        taken = shares.learn(asked, self._size, self._task(), self._state, lr, results)
        return [(loss, penalty) for loss, penalty in results[:taken].tolist()]

    def _answer(self, picked: Ints, lr: float) -> tuple[float, float]:
        asked = self._asked(picked)
        return shares.answer(asked, self._state, lr, *self._task())

    def _task(self) -> Task:
        tables = self._entities, self._relations
        return Task(self._questions, self._by, *tables, self._room, self._named, self._power, self._reg_weight)


class RowStep(FusedStep):
    """Each thread takes the whole step for its rows of the tables, which no other thread ever writes."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> None:
        super().__init__(model, queries, config, optimiser, threads_of_pytorch())
        self._rooms, self._tables = Rooms(), {name: torch.empty_like(table) for name, table in model.tables.items()}

    @property
    def _gradients(self) -> dict[str, Tensor]:
        return self._tables

    def _run(self, picked: Ints, lr: float) -> list[tuple[float, float]]:
        loss, penalty = self._answer(picked[: self._size], lr)
        return [(loss, penalty)] if math.isfinite(loss) else []

    def _answer(self, picked: Ints, lr: float) -> tuple[float, float]:
        asked, room, tables = self._asked(picked), self._room(len(picked)), (self._entities, self._relations)
        task = self._questions, self._by, *tables, room, self._named, self._power, self._reg_weight
        return rows.answer(asked, self._state, lr, *task)

    def _room(self, B: int) -> RowRoom:
        C, (n, dim) = self._shares, self._entities.shape
        d_entities, d_relations = (gradient.numpy() for gradient in self._tables.values())

        def room(purpose: str, rows: int, columns: int) -> Floats:
            return self._rooms.room(purpose, rows, columns, self._model.entities).numpy()

        return RowRoom(
            room("q", B, dim), room("dq", B, dim), room("turned", dim, B),
            room("d_turned", C * dim, B).reshape(C, dim, B), room("tile", C, dim * TILE), room("scores", n, B),
            room("total", C, B), room("weight", 1, B)[0], d_entities, d_relations, np.empty(C), np.empty(C),
        )  # fmt: skip


def _room(*shape: int) -> Floats:
    return torch.empty(shape).numpy()  # it begins where a line of the cache does, always
