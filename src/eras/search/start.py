"""Where searches start: the published structures, cut to M blocks, and what a trained SimplE says of relations."""

from __future__ import annotations

import numpy as np

from eras.graph import TrainingView
from eras.scoring import ScoringFunction, Structure
from eras.scoring.named import NAMES, named
from eras.search.config import SearchConfig
from eras.search.estimators.standalone import Task, train_epochs
from eras.search.grouping import Groups, by_embedding
from eras.search.space import allowed
from eras.training import TrainConfig

HAND_DESIGNED = ("distmult", "complex", "simple", "analogy")
"""What people designed for any graph; AutoSF's functions were found for one graph each."""


def published(blocks: int) -> dict[str, Structure]:
    """The named structures that `blocks` blocks can hold, by name; those equivalent to an earlier one are left out."""
    found: dict[str, Structure] = {}
    for name in NAMES:
        structure = named(name).structures[0]
        if blocks % structure.blocks == 0 and allowed([structure]):
            repeated = tiled(structure, blocks // structure.blocks)
            if repeated not in found.values():
                found[name] = repeated
    return found


def hand_designed(blocks: int) -> dict[str, Structure]:
    """Those of them that were designed by hand."""
    return {name: structure for name, structure in published(blocks).items() if name in HAND_DESIGNED}


def rivals(config: SearchConfig) -> list[ScoringFunction]:
    """The hand-designed functions, which run in the finals of a search."""
    wanted = config.rivals and config.finalists
    return [ScoringFunction([s]) for s in hand_designed(config.blocks).values()] if wanted else []


def known_name(function: ScoringFunction) -> str | None:
    """What a function is called, if it was published."""
    tiles = published(function.structures[0].blocks)
    return next((name for name, structure in tiles.items() if ScoringFunction([structure]) == function), None)


def tiled(structure: Structure, times: int) -> Structure:
    """The structure repeated along the diagonal, each copy with blocks of its own: the same function, cut finer."""
    M = structure.blocks
    cells = np.zeros((M * times, M * times), dtype=np.int64)
    own = np.array(structure.cells)
    for copy in range(times):
        place = slice(copy * M, (copy + 1) * M)
        cells[place, place] = np.sign(own) * (np.abs(own) + copy * M)
    return Structure(cells.tolist())


def pretrained_groups(
    view: TrainingView, config: TrainConfig, epochs: int, groups: int, rng: np.random.Generator
) -> Groups:
    """Relations clustered by their embeddings under SimplE, trained alone (the paper's variant pde)."""
    even = config.updated(dim=config.dim + config.dim % 2)
    *_, simple = train_epochs(Task.of(view), named("simple"), even, epochs)
    return by_embedding(simple, view, groups, rng)
