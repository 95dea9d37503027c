"""What all models offer, and the base of those whose gradients come from autograd.

A model answers questions (entity, relation, side). `encode` turns B of them into tensors of B rows, `compare` scores
those against a table of n candidates. The split bounds memory: comparing can be cut into blocks of questions, and the
table into any selection of entities, whatever the model is inside. Score blocks are entity-major, (n, B).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from eras.errors import SettingError
from eras.graph.queries import HEAD, TAIL

Ints = npt.NDArray[np.integer]
Encoded = tuple[Tensor, ...]
"""B questions, as tensors with B rows each; what they hold is the model's own affair."""

Metric = Literal["product", "distance"]
"""How a question that is one vector is compared with the vectors of entities: score = q · e, or −‖q − e‖."""

PAIRS = 64
"""Triples scored at a time: each question is compared with each answer, and the diagonal is wanted."""


class KnowledgeModel(Protocol):
    """What ranking, prediction, training and the model directory ask of a model."""

    n_relations: int
    reciprocal: bool
    per_entity: ClassVar[tuple[str, ...]]
    """Tables that have a row for each entity."""

    @property
    def n_entities(self) -> int: ...

    @property
    def dim(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def tables(self) -> dict[str, Tensor]: ...

    def initialise(self, seed: int, init: Literal["normal", "xavier"], scale: float) -> None: ...

    def to(self, device: str) -> Any: ...

    def scores(self, entity: Ints, relation: Ints, side: Ints) -> Tensor: ...

    def score(self, triples: Ints, side: int = TAIL) -> Tensor: ...

    def relation_scores(self, head: Ints, tail: Ints) -> Tensor: ...

    def vector(self, kind: Literal["entity", "relation"], number: int) -> Tensor: ...


class Options(BaseModel):
    """Settings of a model's architecture; a model with settings of its own extends it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbeddingModel(nn.Module):
    """entities: (n_entities, dim). `relations` has a row for each relation, or two with reciprocal relations.

    A model says how it encodes the questions of one side; where the head question is the tail question of an inverse
    relation by its paper (`one_sided`), reciprocal relations are a must.
    """

    per_entity: ClassVar[tuple[str, ...]] = ("entities",)
    one_sided: ClassVar[bool] = False
    multiple: ClassVar[int] = 1
    """What `dim` must be a multiple of."""

    Options: ClassVar[type[Options]] = Options
    relations: nn.Parameter

    def __init__(
        self, n_entities: int, n_relations: int, dim: int, *, reciprocal: bool, options: Any, device: str = "cpu"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if dim % self.multiple:
            raise SettingError(f"dim {dim} is no multiple of {self.multiple}, which {name} needs")
        if self.one_sided and not reciprocal:
            raise SettingError(f"{name} answers tail questions only: it needs reciprocal relations")
        self.n_relations, self.reciprocal, self.options = n_relations, reciprocal, options
        self.entities = nn.Parameter(torch.zeros(n_entities, dim))
        self.build(n_relations * (2 if reciprocal else 1), dim)
        self.to(device)
        self.eval()

    @abstractmethod
    def build(self, rows: int, dim: int) -> None:
        """Make the parameters beside `entities`; `relations` has `rows` rows."""

    @abstractmethod
    def encode_side(self, e: Tensor, relation: Tensor, side: int) -> Encoded:
        """Questions about entities e (B, dim) and relation rows (B,), all of one side."""

    @abstractmethod
    def compare(self, encoded: Encoded, table: Tensor) -> Tensor:
        """(n, B): the scores of `candidates` under encoded questions."""

    def candidates(self, picked: Tensor | None = None) -> Tensor:
        """(n, width): what is compared with questions, of all entities or of those picked."""
        return self.entities if picked is None else self.entities[picked]

    @property
    def n_entities(self) -> int:
        return self.entities.shape[0]

    @property
    def dim(self) -> int:
        return self.entities.shape[1]

    @property
    def device(self) -> torch.device:
        return self.entities.device

    @property
    def metric(self) -> Metric | None:
        """What `compare` does, where it does so little that an index of vectors can do it; None where it does more."""
        return None

    @property
    def tables(self) -> dict[str, Tensor]:
        """Parameters, and what batch norm has learned, by name."""
        return {name: value.data for name, value in self.state_dict(keep_vars=True).items()}

    @torch.no_grad()
    def initialise(self, seed: int, init: Literal["normal", "xavier"], scale: float) -> None:
        """Embeddings from the distribution asked for; layers of a network as torch does it."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for layer in self.modules():
                reset = getattr(layer, "reset_parameters", None)
                if callable(reset):
                    reset()
            for table in self.parameters(recurse=False):
                fans = table.shape[-1] + (table.shape[-2] if table.dim() > 2 else table.shape[0])
                std = scale if init == "normal" else (2.0 / fans) ** 0.5
                table.copy_(torch.randn(table.shape).mul_(std))
            self.settle()

    def settle(self) -> None:
        """Put into place what a model does not start from noise."""

    def encode(self, entity: Ints, relation: Ints, side: Ints) -> Encoded:
        """Questions of both sides, in the order given."""
        side = np.asarray(side)
        parts = []
        for one in (TAIL, HEAD):
            picked = np.flatnonzero(side == one)
            if len(picked):
                rows = relation[picked] + self.n_relations * (one if self.reciprocal else 0)
                if self.training and len(picked) == 1:  # batch norm needs two rows
                    picked, rows = np.repeat(picked, 2), np.repeat(rows, 2)
                    encoded = self.encode_side(self.entities[self._ids(entity[picked])], self._ids(rows), one)
                    parts.append(tuple(part[:1] for part in encoded))
                    continue
                parts.append(self.encode_side(self.entities[self._ids(entity[picked])], self._ids(rows), one))
        if len(parts) == 1:
            return parts[0]
        back = self._ids(np.argsort(np.argsort(side, kind="stable"), kind="stable"))
        return tuple(torch.cat(pair)[back] for pair in zip(*parts, strict=True))

    @torch.no_grad()
    def scores(self, entity: Ints, relation: Ints, side: Ints) -> Tensor:
        """(n_entities, B)."""
        return self.compare(self.encode(entity, relation, side), self.candidates())

    @torch.no_grad()
    def score(self, triples: Ints, side: int = TAIL) -> Tensor:
        """(n,): the scores of triples (n, 3), computed as answers to their tail (or head) question."""
        found = []
        for start in range(0, len(triples), PAIRS):
            h, r, t = triples[start : start + PAIRS].T
            asked, answer = (h, t) if side == TAIL else (t, h)
            encoded = self.encode(asked, r, np.full(len(r), side))
            found.append(self.compare(encoded, self.candidates(self._ids(answer))).diagonal())
        return torch.cat(found)

    def relation_scores(self, head: Ints, tail: Ints) -> Tensor:
        """(B, n_relations): the score of (head, r, tail) for every relation r, the mean of both directions."""
        relation = np.tile(np.arange(self.n_relations), len(head))
        h, t = (np.repeat(ids, self.n_relations) for ids in (head, tail))
        triples = np.stack([h, relation, t], 1)
        return ((self.score(triples, TAIL) + self.score(triples, HEAD)) / 2).view(len(head), -1)

    def vector(self, kind: Literal["entity", "relation"], number: int) -> Tensor:
        return (self.entities if kind == "entity" else self.relations)[number].detach().flatten()

    def _ids(self, numbers: Ints) -> Tensor:
        return torch.from_numpy(np.asarray(numbers, dtype=np.int64)).to(self.device)


class Product(EmbeddingModel):
    """score = q · e: the question is one vector."""

    @property
    def metric(self) -> Metric:
        return "product"

    @abstractmethod
    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        """(B, width)."""

    def encode_side(self, e: Tensor, relation: Tensor, side: int) -> Encoded:
        return (self.query(e, relation, side),)

    def compare(self, encoded: Encoded, table: Tensor) -> Tensor:
        return table @ encoded[0].t()
