"""Names to integers while a graph is being read, so that its text is never held as a whole."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.graph.model import Triples
from eras.graph.vocabulary import Vocabulary

Ids = npt.NDArray[np.int32]


class Encoder:
    """Gives names provisional ids block by block; `finish` turns them into the ids of sorted vocabularies."""

    def __init__(self) -> None:
        self._entities: dict[str, int] = {}
        self._relations: dict[str, int] = {}

    def encode(self, blocks: Iterable[pl.DataFrame]) -> Triples:
        """Triples (n, 3) in provisional ids, in the order read."""
        encoded = [self._encode_block(block) for block in blocks]
        return np.concatenate(encoded) if encoded else np.empty((0, 3), np.int32)

    def finish(self) -> tuple[Vocabulary, Vocabulary, Ids, Ids]:
        """Entity and relation vocabularies, and for each the map from provisional to final id."""
        entities, entity_map = _sorted_vocabulary("entity", self._entities)
        relations, relation_map = _sorted_vocabulary("relation", self._relations)
        return entities, relations, entity_map, relation_map

    def _encode_block(self, block: pl.DataFrame) -> Triples:
        n = len(block)
        ends = _ids(self._entities, pl.concat([block["head"].rename("name"), block["tail"].rename("name")]))
        relations = _ids(self._relations, block["relation"].rename("name"))
        return np.stack([ends[:n], relations, ends[n:]], axis=1)


def _ids(known: dict[str, int], names: pl.Series) -> Ids:
    """Look up every name, adding the new ones; only distinct names of the block pass through Python."""
    distinct = names.unique()
    ids = np.array([known.setdefault(name, len(known)) for name in distinct.to_list()], np.int32)
    positions = names.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return np.take(ids, positions)


def _sorted_vocabulary(kind: str, known: dict[str, int]) -> tuple[Vocabulary, Ids]:
    names = pl.Series("name", list(known), dtype=pl.String)
    order = names.arg_sort().to_numpy()
    final = np.empty(len(order), np.int32)
    final[order] = np.arange(len(order), dtype=np.int32)
    return Vocabulary(kind, names[order]), final
