"""The most probable triples that are not known, over all heads, relations and tails.

All pairs under a relation are one product Q Eᵀ, looked at tile by tile. Entities are sorted by length, so that
‖q‖·‖e‖ bounds all scores of a tile and the bounds fall quickly. A tile whose bound does not reach the worst of the
`top` best found so far is left out, which loses nothing: the result is exact. Memory is a sorted copy of the entities,
one tile, the bounds of a relation's tiles, and a few times `top` triples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from eras.graph.queries import HEAD, TAIL
from eras.models import BlockBilinear, EmbeddingModel, KnowledgeModel
from eras.models.facts import fact_queries

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

ROWS, COLUMNS = 512, 2048
"""Heads and tails of a tile: enough for a fast product, few enough that its scores stay in cache while they are
compared."""

KEPT = 4
"""Up to this many times `top` triples are gathered before the best are picked out."""


class Surface(Protocol):
    """Fact scores by tile, entities in an order of its own."""

    order: Ints

    def tile(self, relation: int, rows: slice, columns: slice) -> Tensor:
        """(rows, columns), heads by tails."""

    def bounds(self, relation: int) -> Doubles:
        """(tiles of heads, tiles of tails): no score is higher."""


class _Bilinear:
    def __init__(self, model: BlockBilinear, among: Ints) -> None:
        self.model = model
        lengths = model.entities[torch.from_numpy(among)].norm(dim=1)
        order = lengths.argsort(descending=True)
        self.order: Ints = among[order.cpu().numpy()]
        self.entities = model.entities[torch.from_numpy(self.order)]
        self.lengths = lengths[order]

    def tile(self, relation: int, rows: slice, columns: slice) -> Tensor:
        return fact_queries(self.model, self.entities[rows], relation) @ self.entities[columns].t()

    def bounds(self, relation: int) -> Doubles:
        blocks = [self.entities[start : start + ROWS] for start in range(0, len(self.entities), ROWS)]
        heads = torch.stack([fact_queries(self.model, block, relation).norm(dim=1).max() for block in blocks])
        found: Doubles = torch.outer(heads, self.lengths[::COLUMNS]).double().cpu().numpy()
        return found * (1 + 1e-4) + 1e-6  # products are rounded


class _Any:
    """A model that is no product: every tile has to be looked at. Questions of one relation are encoded once."""

    def __init__(self, model: KnowledgeModel, among: Ints) -> None:
        assert isinstance(model, EmbeddingModel)
        self.model, self.order = model, among
        self.relation: int | None = None
        with torch.no_grad():
            self.candidates = model.candidates()[torch.from_numpy(among)]

    @torch.no_grad()
    def tile(self, relation: int, rows: slice, columns: slice) -> Tensor:
        if relation != self.relation:
            self.relation = relation
            self.to_tail, self.to_head = (self._encoded(relation, side) for side in (TAIL, HEAD))
        as_tail = self.model.compare(tuple(part[rows] for part in self.to_tail), self.candidates[columns])
        as_head = self.model.compare(tuple(part[columns] for part in self.to_head), self.candidates[rows])
        return (as_tail.t() + as_head) / 2

    def _encoded(self, relation: int, side: int) -> tuple[Tensor, ...]:
        blocks = [self.order[start : start + ROWS] for start in range(0, len(self.order), ROWS)]
        parts = [self.model.encode(b, np.full(len(b), relation), np.full(len(b), side)) for b in blocks]
        return tuple(torch.cat(pieces) for pieces in zip(*parts, strict=True))

    def bounds(self, relation: int) -> Doubles:
        return np.full((-(-len(self.order) // ROWS), -(-len(self.order) // COLUMNS)), np.inf)


@dataclass(frozen=True)
class Tile:
    relation: int
    i: int
    j: int

    @property
    def rows(self) -> slice:
        return slice(self.i * ROWS, (self.i + 1) * ROWS)

    @property
    def columns(self) -> slice:
        return slice(self.j * COLUMNS, (self.j + 1) * COLUMNS)


class Discovery:
    """The `top` triples outside `known` with the highest logit = intercept + slope · score, by relation.

    among: ids of the entities that may be head or tail. intercept, slope: (n_relations,), slopes positive. A triple of
    an entity with itself counts only under relations that have such facts.
    """

    def __init__(
        self,
        model: KnowledgeModel,
        known: npt.NDArray[np.integer],
        among: Ints,
        top: int,
        intercept: Doubles,
        slope: Doubles,
    ) -> None:
        self.surface: Surface = _Bilinear(model, among) if isinstance(model, BlockBilinear) else _Any(model, among)
        self.best = _Best(top)
        self.intercept, self.slope = intercept, slope
        self.shape = -(-len(among) // ROWS), -(-len(among) // COLUMNS)
        self.seen = 0
        position = np.full(model.n_entities, -1)
        position[self.surface.order] = np.arange(len(among))
        placed = np.stack([position[known[:, 0]], known[:, 1], position[known[:, 2]]], 1)
        self.known = placed[(placed >= 0).all(1)]
        self.keys = self._key(self.known[:, 1], self.known[:, 0] // ROWS, self.known[:, 2] // COLUMNS)
        order = np.argsort(self.keys, kind="stable")
        self.known, self.keys = self.known[order], self.keys[order]
        self.with_loops = set(known[known[:, 0] == known[:, 2], 1].tolist())

    def run(
        self, relations: Ints, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> tuple[Ints, Doubles]:
        """(n, 3) triples and (n,) logits, best first."""
        tiles = self.shape[0] * self.shape[1]
        bounds = {}
        for relation in relations.tolist():  # the longest vectors of every relation first: they make the floor high
            bounds[relation] = self._bounds(relation).max()
            if np.isfinite(bounds[relation]):
                self._look(Tile(relation, 0, 0))
        for done, relation in enumerate(sorted(bounds, key=lambda r: -bounds[r])):
            on_progress(done * tiles, len(relations) * tiles)
            if bounds[relation] < self.best.floor:
                break
            of_tiles = self._bounds(relation)
            for number, flat in enumerate(np.argsort(-of_tiles, axis=None)):
                i, j = divmod(int(flat), self.shape[1])
                if of_tiles[i, j] < self.best.floor:
                    break
                if (i, j) != (0, 0) or np.isinf(bounds[relation]):
                    self._look(Tile(relation, i, j))
                    on_progress(done * tiles + number, len(relations) * tiles)
        on_progress(len(relations) * tiles, len(relations) * tiles)
        return self.best.result()

    def _bounds(self, relation: int) -> Doubles:
        return np.asarray(self.intercept[relation] + self.slope[relation] * self.surface.bounds(relation))

    def _key(self, relation: Ints | int, i: Ints | int, j: Ints | int) -> Ints:
        return np.asarray((relation * self.shape[0] + i) * self.shape[1] + j)

    def _look(self, tile: Tile) -> None:
        """Gather what is in a tile and good enough."""
        self.seen += 1
        scores = self.surface.tile(tile.relation, tile.rows, tile.columns)
        self._leave_out(scores, tile)
        intercept, slope = self.intercept[tile.relation], self.slope[tile.relation]
        floor = (self.best.floor - intercept) / slope
        floor -= 1e-6 * abs(floor) if np.isfinite(floor) else 0  # the score is rounded; the logit decides
        if float(scores.max()) < floor:
            return
        flat = scores.flatten()
        good = (flat >= max(floor, torch.finfo(flat.dtype).min)).nonzero().squeeze(1)
        if len(good) > self.best.top:
            good = good[flat[good].topk(self.best.top).indices]
        rows, columns = np.divmod(good.cpu().numpy(), scores.shape[1])
        order = self.surface.order
        relation = np.full(len(rows), tile.relation)
        triples = np.stack([order[rows + tile.rows.start], relation, order[columns + tile.columns.start]], 1)
        self.best.add(triples, intercept + slope * flat[good].double().cpu().numpy())

    def _leave_out(self, scores: Tensor, tile: Tile) -> None:
        key = self._key(tile.relation, tile.i, tile.j)
        facts = self.known[np.searchsorted(self.keys, key) : np.searchsorted(self.keys, key, side="right")]
        rows, columns = facts[:, 0] - tile.rows.start, facts[:, 2] - tile.columns.start
        if tile.relation not in self.with_loops:
            first, last = max(tile.rows.start, tile.columns.start), min(tile.rows.stop, tile.columns.stop)
            loops = np.arange(first, min(last, len(self.surface.order)))
            rows = np.concatenate([rows, loops - tile.rows.start])
            columns = np.concatenate([columns, loops - tile.columns.start])
        scores[torch.from_numpy(rows), torch.from_numpy(columns)] = -torch.inf


class _Best:
    """The best triples so far, and the logit that a further one must reach."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.floor = -np.inf
        self.triples: list[Ints] = []
        self.logits: list[Doubles] = []

    def add(self, triples: Ints, logits: Doubles) -> None:
        self.triples.append(triples)
        self.logits.append(logits)
        held = sum(map(len, self.logits))
        if held > KEPT * self.top or (held >= self.top and self.floor == -np.inf):
            self._prune()

    def result(self) -> tuple[Ints, Doubles]:
        if not self.logits:
            return np.empty((0, 3), np.int64), np.empty(0)
        self._prune()
        return self.triples[0], self.logits[0]

    def _prune(self) -> None:
        triples, logits = np.concatenate(self.triples), np.concatenate(self.logits)
        head, relation, tail = triples.T
        order = np.lexsort((tail, relation, head, -logits))[: self.top]
        self.triples, self.logits = [triples[order]], [logits[order]]
        if len(order) == self.top:
            self.floor = float(logits[order[-1]])
