"""From blocks of named triples to a graph: ids, distinct sorted triples, and the splits the source lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.errors import DataError
from eras.graph.encoder import Encoder
from eras.graph.model import SPLITS, Graph, Triples
from eras.graph.splits import hold_out


def build_graph(
    name: str,
    where: str,
    blocks: Mapping[str, Iterable[pl.DataFrame]],
    seed: int,
    holdout: tuple[float, float],
) -> Graph:
    """`blocks` gives frames (head, relation, tail: String) for `train`, and `valid` and `test` if given."""
    encoder = Encoder()
    provisional = {split: encoder.encode(blocks[split]) for split in SPLITS if split in blocks}
    entities, relations, entity_ids, relation_ids = encoder.finish()
    if not sum(map(len, provisional.values())):
        raise DataError(f"{where}: no triples; expected at least a few (head, relation, tail)")
    if len(entities) < 2:
        raise DataError(f"{where}: the graph has one entity, {entities.name(0)!r}; links need at least two")
    notes: list[str] = []
    splits = {}
    for split, triples in provisional.items():
        final = np.stack([entity_ids[triples[:, 0]], relation_ids[triples[:, 1]], entity_ids[triples[:, 2]]], axis=1)
        splits[split] = distinct(final)
        if dropped := len(final) - len(splits[split]):
            notes.append(f"{dropped:,} duplicate triples dropped from {split}")
    notes += _hold_out_missing(splits, where, seed, holdout)
    notes += _unseen_notes(splits)
    return Graph(name, entities, relations, splits["train"], splits["valid"], splits["test"], tuple(notes))


def distinct(triples: Triples) -> Triples:
    """The different rows of (n, 3), sorted by head, relation, tail."""
    entities, relations = int(triples[:, [0, 2]].max(initial=0)) + 1, int(triples[:, 1].max(initial=0)) + 1
    if entities * relations * entities > np.iinfo(np.int64).max:
        return np.unique(triples, axis=0)
    keys = (triples[:, 0].astype(np.int64) * relations + triples[:, 1]) * entities + triples[:, 2]
    keys.sort()  # one number for each triple sorts several times faster than rows
    keys = keys[np.diff(keys, prepend=-1) != 0]
    pairs, tails = np.divmod(keys, entities)
    heads, middle = np.divmod(pairs, relations)
    return np.stack([heads, middle, tails], axis=1).astype(np.int32)


def _hold_out_missing(splits: dict[str, Triples], where: str, seed: int, holdout: tuple[float, float]) -> list[str]:
    """Take the splits that are missing out of `train`, in place; say what was done."""
    fractions = {s: f for s, f in zip(SPLITS[1:], holdout, strict=True) if s not in splits}
    if not fractions:
        return []
    total = len(splits["train"])
    splits["train"], parts = hold_out(splits["train"], tuple(fractions.values()), seed, where)
    splits.update(zip(fractions, parts, strict=True))
    held_out = " and ".join(f"{len(splits[split]):,} {split}" for split in fractions)
    return [f"{held_out} triples held out of {total:,} (seed {seed}): the source has no such split"]


def unseen(values: npt.NDArray[np.int32], known: npt.NDArray[np.int32]) -> int:
    """How many different ids of `values` do not occur in `known`."""
    missing = np.zeros(int(max(values.max(initial=0), known.max(initial=0))) + 1, np.bool_)
    missing[values] = True
    missing[known] = False
    return int(missing.sum())


def _unseen_notes(splits: Mapping[str, Triples]) -> list[str]:
    notes = []
    for split in SPLITS[1:]:
        for kind, columns in (("entities", [0, 2]), ("relations", [1])):
            if count := unseen(splits[split][:, columns], splits["train"][:, columns]):
                notes.append(f"{count:,} {kind} of {split} never occur in train")
    return notes
