"""The block-bilinear model: entity and relation embeddings under a scoring function.

Asking for the head is asking for the tail under the transposed structure. With reciprocal relations the head question
also has a relation embedding of its own; when the two embeddings are equal, both settings coincide. That second
embedding is row `relation + n_relations` of the table and never leaves this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.errors import SettingError
from eras.graph.queries import HEAD, TAIL
from eras.models.cache import rows_in_cache
from eras.models.multiply import product
from eras.scoring import ScoringFunction
from eras.scoring.query import Plan, Segment, contract, query

Ints = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Queries sorted so that equal structures stand together.

    order: (B,) positions in what was given; entity, relation: (B,) rows of the two tables, in the new order.
    """

    order: npt.NDArray[np.int64]
    entity: Tensor
    relation: Tensor
    segments: tuple[Segment, ...]


class BlockBilinear:
    """entities: (n_entities, dim); relations: (n_relations, dim), or twice the rows with reciprocal relations."""

    per_entity: ClassVar[tuple[str, ...]] = ("entities",)

    def __init__(
        self,
        function: ScoringFunction,
        relation_names: Sequence[str],
        n_entities: int,
        dim: int,
        *,
        reciprocal: bool,
        device: str = "cpu",
    ) -> None:
        if dim % function.blocks:
            below, above = dim - dim % function.blocks, dim + -dim % function.blocks
            raise SettingError(
                f"dim {dim} cannot be cut into {function.blocks} equal blocks: "
                f"use a multiple of {function.blocks}, such as {' or '.join(str(d) for d in (below, above) if d)}"
            )
        self.function = function
        self.n_relations = len(relation_names)
        self.reciprocal = reciprocal
        self.groups = np.asarray(function.assignment(relation_names), dtype=np.int64)
        # One plan for each group and side: the tail plans, then the head plans.
        plans = [Plan.of(s) for s in function.structures]
        self.plans = [*plans, *(plan.transposed() for plan in plans)]
        rows = self.n_relations * (2 if reciprocal else 1)
        self.entities = torch.zeros(n_entities, dim, device=device)
        self.relations = torch.zeros(rows, dim, device=device)

    @property
    def n_groups(self) -> int:
        return len(self.function.structures)

    @property
    def dim(self) -> int:
        return self.entities.shape[1]

    @property
    def n_entities(self) -> int:
        return self.entities.shape[0]

    @property
    def device(self) -> torch.device:
        return self.entities.device

    @property
    def tables(self) -> dict[str, Tensor]:
        return {"entities": self.entities, "relations": self.relations}

    def to(self, device: str) -> None:
        self.entities, self.relations = self.entities.to(device), self.relations.to(device)

    def initialise(self, seed: int, init: Literal["normal", "xavier"], scale: float) -> None:
        generator = torch.Generator().manual_seed(seed)
        for table in self.tables.values():
            std = scale if init == "normal" else (2.0 / sum(table.shape)) ** 0.5
            table.copy_(torch.randn(table.shape, generator=generator).mul_(std))

    def relation_rows(self, relation: Ints, side: Ints) -> npt.NDArray[np.int64]:
        return relation + self.n_relations * side if self.reciprocal else np.asarray(relation, dtype=np.int64)

    def slots(self, relation: Ints, side: Ints) -> npt.NDArray[np.int64]:
        """Which of `plans` scores each query: (B,)."""
        return self.groups[relation] + self.n_groups * np.asarray(side, dtype=np.int64)

    def arrange(self, entity: Ints, relation: Ints, side: Ints) -> Arrangement:
        """Sort the queries (entity, relation, side) by the structure that scores them."""
        slot = self.slots(relation, side)
        order = np.argsort(slot, kind="stable")
        slot = slot[order]
        cuts = np.flatnonzero(slot[1:] != slot[:-1]) + 1
        bounds = [0, *cuts.tolist(), len(slot)] if len(slot) else []
        rows = self.relation_rows(relation, side)
        return Arrangement(
            order,
            torch.from_numpy(np.asarray(entity[order], dtype=np.int64)).to(self.device),
            torch.from_numpy(rows[order]).to(self.device),
            tuple(Segment(self.plans[slot[a]], a, b) for a, b in pairwise(bounds)),
        )

    def queries(self, entity: Ints, relation: Ints, side: Ints) -> Tensor:
        """(B, dim): the vectors q with score = q · e for every candidate e, in the order given."""
        a = self.arrange(entity, relation, side)
        q = query(self.entities[a.entity], self.relations[a.relation], a.segments)
        if len(a.segments) == 1:  # the order is as given
            return q
        restored = torch.empty_like(q)
        restored[torch.from_numpy(a.order).to(self.device)] = q
        return restored

    def scores(self, entity: Ints, relation: Ints, side: Ints) -> Tensor:
        """(n_entities, B): the score of every entity, in the order given."""
        return self.scores_into(self.entities.new_empty(self.n_entities, len(entity)), entity, relation, side)

    def scores_into(self, out: Tensor, entity: Ints, relation: Ints, side: Ints) -> Tensor:
        q = self.queries(entity, relation, side)
        for rows in rows_in_cache(out):
            product(self.entities[rows], q.t(), out[rows])
        return out

    def vector(self, kind: Literal["entity", "relation"], number: int) -> Tensor:
        return (self.entities if kind == "entity" else self.relations)[number]

    def score(self, triples: Ints, side: int = TAIL) -> Tensor:
        """(n,): the scores of triples (n, 3), computed as answers to their tail (or head) question."""
        h, r, t = triples.T
        asked, answer = (h, t) if side == TAIL else (t, h)
        q = self.queries(asked, r, np.full(len(r), side))
        return (q * self.entities[torch.from_numpy(answer.astype(np.int64)).to(self.device)]).sum(1)

    def relation_scores(self, head: Ints, tail: Ints) -> Tensor:
        """(B, n_relations): the score of (head, r, tail) for every relation r, the mean of both directions."""
        h = self.entities[torch.from_numpy(head.astype(np.int64)).to(self.device)]
        t = self.entities[torch.from_numpy(tail.astype(np.int64)).to(self.device)]
        scores = h.new_empty(len(head), self.n_relations)
        for group in range(self.n_groups):
            members = np.flatnonzero(self.groups == group)
            plan = self.plans[group]
            s = contract(h, t, plan.to_relation, plan.blocks)
            rows = [self.relation_rows(members, np.full_like(members, side)) for side in (TAIL, HEAD)]
            table = (self.relations[rows[0]] + self.relations[rows[1]]) / 2
            scores[:, torch.from_numpy(members).to(self.device)] = s @ table.T
        return scores
