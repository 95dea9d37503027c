"""Training steps as machine code (see `kernels`): they do what those of `step` do, for plain settings, in less time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch

from eras.compiled import team, threads_of_pytorch
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring.query import Plan
from eras.training import rows, shares
from eras.training.batches import candidate_rng, sample_candidates
from eras.training.config import TrainConfig
from eras.training.kernels import Asked, Floats, Ints, Named, Questions, Structures
from eras.training.optimiser import Gradient, Optimiser
from eras.training.rows import TILE, Compared, RowRoom
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

Found = tuple[float, float, dict[str, Gradient]]
"""Loss, penalty and gradients."""


def fused_step(
    model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser, *, sampled: bool
) -> FusedStep | None:
    """The fastest kind of step; None where PyTorch does not have what it needs."""
    if not TILES_FOUND:
        return None
    scores = model.n_entities * config.batch_size
    few = max(scores, 2 * model.entities.numel()) <= _FEW and 8 * scores <= config.memory_mb << 20
    kind = SampledStep if sampled else SharedStep if few else RowStep
    return kind(model, queries, config, optimiser)


class FusedStep(ABC):
    """Steps of the block-bilinear model by log-loss among entities, Adagrad and the penalties n3 and f2.

    Every thread does a part of all that a step needs, products included.
    """

    def __init__(
        self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser, shares: int
    ) -> None:
        self._model, self._queries, self._config, self._shares = model, queries, config, shares
        self._penalty = _POWERS[config.regulariser] if config.reg_weight else 0, config.reg_weight
        relations = model.relation_rows(queries.relation, queries.side)
        self._questions = Questions(queries.entity, relations, queries.offsets, queries.answers)
        self._entities, self._relations = model.entities.numpy(), model.relations.numpy()
        self._plans: Sequence[Plan] = ()
        self._by: Structures
        self._rooms = Rooms()
        self._optimiser, self._state = optimiser, _NO_STATE
        if config.optimiser == "adagrad" and not config.unit_ball:
            sums, steps = ([optimiser.state()[f"{table}.{key}"] for table in model.tables] for key in ("sum", "step"))
            self._state = Adagrad(*(x.numpy() for x in sums), *(x.view(1).numpy() for x in steps))

    @property
    def moves(self) -> bool:
        """Whether steps can be taken, not gradients alone: where the optimiser is plain Adagrad."""
        return self._state is not _NO_STATE

    @abstractmethod
    def learn(self, picked: Ints, epoch: int, step: int) -> list[tuple[float, float]]:
        """Take this step and more, at most one for each batch of `picked`, up to one that is left to others.

        Loss and penalty of each.
        """

    @abstractmethod
    def gradients(self, picked: Ints, epoch: int, step: int) -> Found | None:
        """What the next call overwrites; None where scores are too large for that, or too many."""

    def _asked(self, picked: Ints) -> Asked:
        model, queries = self._model, self._queries
        if self._plans is not model.plans:  # a supernet has others in each step
            self._plans, self._by = model.plans, structures_of(model.plans, model.dim)
        return Asked(picked, model.slots(queries.relation[picked], queries.side[picked]))

    def _named(self, n: int) -> Named:
        kinds = self._shares, len(self._by.coupled_entities)
        of_entities = self._empty("entities named", *kinds, n)
        return Named(of_entities, self._empty("relations named", *kinds, len(self._relations)))

    def _empty(self, purpose: str, *shape: int) -> Floats:
        """Memory that begins where a line of the cache does, always; the same again for the same purpose."""
        room = self._rooms.room(purpose, math.prod(shape[:-1]), shape[-1], self._model.entities)
        return room.numpy().reshape(shape)


class SharedStep(FusedStep):
    """Each thread takes the whole step for a share of the questions, so most of what it needs stays in its cache."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> None:
        C = max(1, min(threads_of_pytorch(), config.batch_size // _LEAST))
        super().__init__(model, queries, config, optimiser, C)
        (n, dim), W, room = self._entities.shape, math.ceil(config.batch_size / C), self._empty
        self._room = Room(
            room("turned", C, n * dim), room("q", C, W, dim), room("dq", C, W, dim), room("scores", C, n * W),
            room("slopes", C, n * W), room("total", C, W), room("weight", C, W), room("d_entities", C, n, dim),
            room("d_relations", C, *self._relations.shape), np.empty(C), np.empty(C),
        )  # fmt: skip

    def gradients(self, picked: Ints, epoch: int, step: int) -> Found | None:
        asked = self._asked(picked)
        with team(self._shares):
            said = shares.answer(asked, self._state, 0.0, *self._task())
        return _found(said, self._room.d_entities[0], self._room.d_relations[0])

    def learn(self, picked: Ints, epoch: int, step: int) -> list[tuple[float, float]]:
        results, asked = np.empty((math.ceil(len(picked) / self._config.batch_size), 2)), self._asked(picked)
        lr = self._optimiser.lr(epoch)
        with team(self._shares):
            taken = shares.learn(asked, self._config.batch_size, self._task(), self._state, lr, results)
        return [(loss, penalty) for loss, penalty in results[:taken].tolist()]

    def _task(self) -> Task:
        tables, named = (self._entities, self._relations), self._named(len(self._entities))
        return Task(self._questions, self._by, *tables, self._room, named, *self._penalty)


class RowStep(FusedStep):
    """Each thread takes the whole step for its rows of the tables, which no other thread ever writes."""

    def __init__(self, model: BlockBilinear, queries: Queries, config: TrainConfig, optimiser: Optimiser) -> None:
        super().__init__(model, queries, config, optimiser, threads_of_pytorch())
        n = len(self._entities)
        self._all = Compared(self._entities, np.arange(n), np.zeros(n, np.float32))

    def gradients(self, picked: Ints, epoch: int, step: int) -> Found | None:
        return self._answer(picked, epoch, step, 0.0)

    def learn(self, picked: Ints, epoch: int, step: int) -> list[tuple[float, float]]:
        found = self._answer(picked[: self._config.batch_size], epoch, step, self._optimiser.lr(epoch))
        return [] if found is None else [found[:2]]

    def _answer(self, picked: Ints, epoch: int, step: int, lr: float) -> Found | None:
        """With a rate `lr`, the tables are moved; with 0, gradients are left."""
        if not self._fits(len(self._entities), len(picked)):
            return None
        return self._compare(self._asked(picked), self._questions, self._all, lr)

    def _fits(self, candidates: int, questions: int) -> bool:
        """Whether scores, queries and their gradients keep to the budget; steps by PyTorch do, whatever their size."""
        numbers = questions * (candidates + (3 + self._shares) * self._model.dim)
        return 4 * numbers <= self._config.memory_mb << 20

    def _compare(self, asked: Asked, of: Questions, candidates: Compared, lr: float) -> Found | None:
        n, B, dim, C = len(candidates.entity), len(asked.question), self._model.dim, self._shares
        room = RowRoom(
            self._empty("q", B, dim), self._empty("dq", B, dim), self._empty("turned", dim, B),
            self._empty("d_turned", C, dim, B), self._empty("tile", C, dim * TILE), self._empty("scores", n, B),
            self._empty("total", C, B), self._empty("weight", B), self._empty("d_entities", n, dim),
            self._empty("d_relations", *self._relations.shape), np.empty(C), np.empty(C),
        )  # fmt: skip
        about = of, self._by, candidates, self._relations, room, self._named(n), *self._penalty, self._entities
        with team(C):
            said = rows.answer(asked, self._state, lr, *about)
        return _found(said, room.d_entities, room.d_relations)


class SampledStep(RowStep):
    """A step by rows of a sample of the entities, with the same candidates as one by PyTorch."""

    def _answer(self, picked: Ints, epoch: int, step: int, lr: float) -> Found | None:
        model, queries, config, B = self._model, self._queries, self._config, len(picked)
        wanted = torch.from_numpy(np.append(queries.answers_of(picked).entity, queries.entity[picked]))
        drawn = sample_candidates(wanted, model.n_entities, config.negatives, candidate_rng(config.seed, epoch, step))
        if not self._fits(len(drawn.entity), B):
            return None
        vectors, place = self._rooms.rows("vectors", model.entities, drawn.entity).numpy(), drawn.position.numpy()
        candidates = Compared(vectors, drawn.entity.numpy(), drawn.log_weight.numpy().ravel())
        offsets = np.append(0, np.cumsum(queries.counts[picked]))
        of = Questions(place[-B:], self._questions.relation[picked], offsets, place[:-B])
        found = self._compare(Asked(np.arange(B), self._asked(picked).structure), of, candidates, lr)
        if found is not None:
            found[2]["entities"] = Gradient(found[2]["entities"].values, drawn.entity)
        return found


def _found(said: tuple[float, float], d_entities: Floats, d_relations: Floats) -> Found | None:
    if not math.isfinite(said[0]):
        return None
    gradients = {"entities": d_entities, "relations": d_relations}
    return *said, {name: Gradient(torch.from_numpy(gradient)) for name, gradient in gradients.items()}
