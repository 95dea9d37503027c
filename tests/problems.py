"""Small random problems for property tests: a graph's triples, a scoring function, a model with random parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st

from block_strategies import structures
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import ScoringFunction


@dataclass(frozen=True, eq=False)
class Problem:
    model: BlockBilinear  # float64, so that comparisons can be tight
    triples: np.ndarray
    queries: Queries


@st.composite
def problems(draw: st.DrawFn, reciprocal: bool | None = None) -> Problem:
    """M from 1 to 6, one to three groups, both settings of reciprocal relations."""
    blocks = draw(st.integers(1, 6))
    n_groups = draw(st.integers(1, 3))
    n_entities, n_relations = draw(st.integers(2, 9)), draw(st.integers(n_groups, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    relations = [f"r{i}" for i in range(n_relations)]
    groups = {name: int(g) for name, g in zip(relations, rng.integers(n_groups, size=n_relations), strict=True)}
    function = ScoringFunction([draw(structures(st.just(blocks))) for _ in range(n_groups)], groups)
    model = BlockBilinear(
        function,
        relations,
        n_entities,
        blocks * draw(st.integers(1, 3)),
        reciprocal=draw(st.booleans()) if reciprocal is None else reciprocal,
    )
    model.entities = torch.from_numpy(rng.normal(size=model.entities.shape))
    model.relations = torch.from_numpy(rng.normal(size=model.relations.shape))
    every = np.array(np.meshgrid(range(n_entities), range(n_relations), range(n_entities))).reshape(3, -1).T
    triples = every[rng.permutation(len(every))[: draw(st.integers(1, 25))]]
    return Problem(model, triples, Queries.of(triples, n_entities, n_relations))


def plain_score(model: BlockBilinear, h: int, r: int, t: int, side: int = 0) -> torch.Tensor:
    """Σ ±⟨h_i, r_k, t_j⟩ as the definition says, one product at a time."""
    row = r + model.n_relations * side if model.reciprocal else r
    width = model.dim // model.function.blocks

    def block(table: torch.Tensor, row: int, i: int) -> torch.Tensor:
        return table[row, i * width : (i + 1) * width]

    total = model.entities.new_zeros(())
    for i, cells in enumerate(model.function.structures[model.groups[r]].cells):
        for j, cell in enumerate(cells):
            if cell:
                k = abs(cell) - 1
                product = block(model.entities, h, i) * block(model.relations, row, k) * block(model.entities, t, j)
                total = total + product.sum() * (1 if cell > 0 else -1)
    return total
