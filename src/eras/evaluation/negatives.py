"""False triples made of true ones, where nobody has labelled any.

Head or tail, by a fair coin, is replaced by an entity that stands at that place of the relation in some known fact, so
that the result is of the right kind; where all of these give known facts, by any entity. A known fact is never made.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eras.errors import DataError
from eras.graph.labelled import Labelled
from eras.graph.queries import HEAD, TAIL

Ints = npt.NDArray[np.int64]

COLUMN = {TAIL: 2, HEAD: 0}
ATTEMPTS = 20
"""Draws for a triple before all candidates are looked at."""


def with_negatives(
    true: npt.NDArray[np.integer], known: npt.NDArray[np.integer], n_entities: int, seed: int
) -> Labelled:
    """The triples, labelled true, and as many false ones; `known` holds all facts, those of `true` included.

    A triple for which no false one exists, on either side, is left out with its partner.
    """
    rng = np.random.default_rng(seed)
    made = _Corruption(known.astype(np.int64), n_entities, rng)
    side = rng.integers(2, size=len(true))
    false: Ints = true.astype(np.int64)
    open_rows = np.arange(len(true))
    for _ in range(ATTEMPTS):
        false[open_rows] = made.draw(true[open_rows], side[open_rows])
        open_rows = open_rows[made.known(false[open_rows])]
        if not len(open_rows):
            break
    lost = []
    for row in open_rows.tolist():
        found = made.choose(true[row], int(side[row]))
        if found is None:
            lost.append(row)
        else:
            false[row] = found
    kept = np.delete(np.arange(len(true)), np.array(lost, dtype=np.int64))
    if not len(kept):
        raise DataError("no false triple can be made: every triple that could be is a known fact")
    truth = np.repeat([True, False], len(kept))
    return Labelled(np.concatenate([true[kept], false[kept]]).astype(np.int64), truth, len(lost))


class _Corruption:
    """What is known, and which entities stand at each place: (offsets by relation, entities) for both sides."""

    def __init__(self, known: Ints, n_entities: int, rng: np.random.Generator) -> None:
        self.n_entities, self.rng = n_entities, rng
        self.facts = np.unique(self._keys(known))
        self.places = {}
        for side, column in COLUMN.items():
            pairs = np.unique(known[:, [1, column]], axis=0)
            offsets = np.searchsorted(pairs[:, 0], np.arange(known[:, 1].max() + 2))
            self.places[side] = offsets, pairs[:, 1]

    def draw(self, true: npt.NDArray[np.integer], side: Ints) -> Ints:
        """True triples with another entity of the relation on the side given, known facts among them."""
        false: Ints = true.astype(np.int64)
        for one, column in COLUMN.items():
            rows = np.flatnonzero(side == one)
            offsets, entities = self.places[one]
            relation = true[rows, 1]
            false[rows, column] = entities[self.rng.integers(offsets[relation], offsets[relation + 1])]
        return false

    def choose(self, true: npt.NDArray[np.integer], side: int) -> Ints | None:
        """One of all false triples of the side given, or else of the other: of the relation's entities, or of all."""
        for one in (side, 1 - side):
            offsets, entities = self.places[one]
            own = entities[offsets[true[1]] : offsets[true[1] + 1]]
            for candidates in (own, np.arange(self.n_entities)):
                false: Ints = np.repeat(true[None].astype(np.int64), len(candidates), 0)
                false[:, COLUMN[one]] = candidates
                false = false[~self.known(false)]
                if len(false):
                    return np.asarray(false[self.rng.integers(len(false))])
        return None

    def known(self, triples: Ints) -> npt.NDArray[np.bool_]:
        keys = self._keys(triples)
        place = np.minimum(np.searchsorted(self.facts, keys), len(self.facts) - 1)
        return np.asarray(self.facts[place] == keys)

    def _keys(self, triples: Ints) -> Ints:
        return (triples[:, 1] * self.n_entities + triples[:, 0]) * self.n_entities + triples[:, 2]
