"""Graphs with relations of known pattern: ground truth for searchers, and material of any size.

Entities have latent vectors z. A relation holds between h and t where zₕᵀ W zₜ is largest, and the shape of W plants
its pattern: a symmetric W gives (t, h) the score of (h, t), a skew one its negative, a general one neither. An inverse
pair shares one general W, read in both directions. A composition's W is the product of two others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.errors import OutputError, SettingError
from eras.files import write_text
from eras.graph.load import load_graph
from eras.graph.model import SPLITS, Graph

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CANDIDATES = 4096
"""Tails that are compared for a head: all of them in a small graph, a sample in a large one."""


@dataclass(frozen=True)
class Plan:
    """How many relations of each pattern to plant, and how large the graph is to be."""

    entities: int = 200
    triples_per_relation: int = 400
    symmetric: int = 3
    anti_symmetric: int = 3
    inverse_pairs: int = 2
    general: int = 3
    compositions: int = 0
    latent_dim: int = 6
    tails_per_head: int = 4
    noise: float = 0.0
    """Share of triples whose tail is drawn at random."""


@dataclass(frozen=True, eq=False)
class Planted:
    graph: Graph
    patterns: dict[str, str]
    """Relation name → symmetric, anti-symmetric, inverse or general (compositions are general)."""


def plant(plan: Plan, seed: int = 0, holdout: tuple[float, float] = (0.1, 0.1)) -> Planted:
    """Make a graph; the same plan and seed give the same graph."""
    _check(plan)
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(plan.entities, plan.latent_dim))
    parts: list[tuple[str, str, Ints]] = []
    generals: list[Floats] = []

    for i in range(plan.symmetric):
        W = _matrix(rng, plan)
        pairs = _pairs(rng, z, W + W.T, plan, plan.triples_per_relation // 2)
        parts.append((f"symmetric_{i + 1}", "symmetric", np.concatenate([pairs, pairs[:, ::-1]])))
    for i in range(plan.anti_symmetric):
        W = _matrix(rng, plan)
        parts.append((f"anti_symmetric_{i + 1}", "anti-symmetric", _pairs(rng, z, W - W.T, plan)))
    for i in range(plan.inverse_pairs):
        pairs = _pairs(rng, z, _matrix(rng, plan), plan)
        parts += [(f"inverse_{i + 1}_forth", "inverse", pairs), (f"inverse_{i + 1}_back", "inverse", pairs[:, ::-1])]
    for i in range(plan.general):
        # Half of a symmetric form makes some pairs hold in both directions, half of another keeps others one-way.
        W, V = _matrix(rng, plan), _matrix(rng, plan)
        generals.append(V + V.T + W)
        parts.append((f"general_{i + 1}", "general", _pairs(rng, z, generals[-1], plan)))
    for i in range(plan.compositions):
        W = generals[i % len(generals)] @ generals[(i + 1) % len(generals)]
        parts.append((f"composition_{i + 1}", "general", _pairs(rng, z, W, plan)))

    frame = pl.concat([_frame(name, _with_noise(rng, pairs, plan)) for name, _, pairs in parts])
    graph = load_graph(frame, seed=seed, holdout=holdout, name=f"planted-{seed}")
    return Planted(graph, {name: pattern for name, pattern, _ in parts})


def write_planted(planted: Planted, folder: Path) -> None:
    """Write train.tsv, valid.tsv, test.tsv, and patterns.tsv with the truth, into a folder that is new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} exists already: choose a new or empty folder")
    graph = planted.graph
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror or error}") from error
    for split in SPLITS:
        h, r, t = graph.split(split).T
        columns = graph.entities.names.gather(h), graph.relations.names.gather(r), graph.entities.names.gather(t)
        _write_lines(folder / f"{split}.tsv", zip(*columns, strict=True))
    _write_lines(folder / "patterns.tsv", planted.patterns.items())


def _write_lines(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def _check(plan: Plan) -> None:
    planted = plan.symmetric + plan.anti_symmetric + plan.inverse_pairs + plan.general
    if not planted:
        raise SettingError("plant at least one relation: symmetric, anti_symmetric, inverse_pairs or general")
    if plan.compositions and not plan.general:
        raise SettingError("compositions are made of general relations: plant at least one of those")
    if plan.entities < 10 * plan.tails_per_head:
        raise SettingError(f"{plan.entities} entities are too few for {plan.tails_per_head} tails of a head: use more")
    if not 0 <= plan.noise < 1:
        raise SettingError(f"noise {plan.noise} must be a share, at least 0 and below 1")


def _matrix(rng: np.random.Generator, plan: Plan) -> Floats:
    return rng.normal(size=(plan.latent_dim, plan.latent_dim))


def _pairs(rng: np.random.Generator, z: Floats, W: Floats, plan: Plan, count: int | None = None) -> Ints:
    """(n, 2): heads drawn at random, each with its best tails under W; never an entity with itself."""
    count = plan.triples_per_relation if count is None else count
    n_heads = min(plan.entities, -(-count // plan.tails_per_head))
    heads = rng.choice(plan.entities, size=n_heads, replace=False)
    tails = np.empty((n_heads, plan.tails_per_head), dtype=np.int64)
    for start in range(0, n_heads, 256):
        block = heads[start : start + 256]
        sampled = plan.entities > CANDIDATES
        pool = rng.choice(plan.entities, size=CANDIDATES, replace=False) if sampled else np.arange(plan.entities)
        scores = z[block] @ W @ z[pool].T
        scores[block[:, None] == pool[None, :]] = -np.inf
        best = np.argpartition(-scores, plan.tails_per_head - 1, axis=1)[:, : plan.tails_per_head]
        tails[start : start + 256] = pool[best]
    return np.stack([np.repeat(heads, plan.tails_per_head), tails.ravel()], axis=1)[:count]


def _with_noise(rng: np.random.Generator, pairs: Ints, plan: Plan) -> Ints:
    wrong = rng.random(len(pairs)) < plan.noise
    return np.stack([pairs[:, 0], np.where(wrong, rng.integers(plan.entities, size=len(pairs)), pairs[:, 1])], axis=1)


def _frame(name: str, pairs: Ints) -> pl.DataFrame:
    ends = {side: "e" + pl.Series(pairs[:, i]).cast(pl.String) for i, side in enumerate(("head", "tail"))}
    return pl.DataFrame(
        {"head": ends["head"], "relation": pl.repeat(name, len(pairs), eager=True), "tail": ends["tail"]}
    )
