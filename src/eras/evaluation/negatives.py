"""False triples made of true ones, where nobody has labelled any.

Head or tail, by a fair coin, is replaced by an entity that stands at that place of the relation in some fact that was
seen, so that the result is of the right kind. Where all of these give known facts, the other side is tried, and only
then entities of any kind. A known fact is never made, nor a triple of an entity with itself under a relation that has
none.
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

ANY = 1000
"""Entities of any kind that are looked at in the end."""


def with_negatives(
    true: npt.NDArray[np.integer],
    seen: npt.NDArray[np.integer],
    known: npt.NDArray[np.integer],
    n_entities: int,
    seed: int,
) -> Labelled:
    """The triples, labelled true, and as many false ones.

    `seen` says which entities stand where, those of `true` included; `known` holds all facts. A triple for which no
    false one is found is left out.
    """
    rng = np.random.default_rng(seed)
    made = _Corruption(seen.astype(np.int64), known.astype(np.int64), n_entities, rng)
    side = rng.integers(2, size=len(true))
    false: Ints = true.astype(np.int64)
    open_rows = np.arange(len(true))
    for _ in range(ATTEMPTS):
        false[open_rows] = made.draw(true[open_rows], side[open_rows])
        open_rows = open_rows[made.refused(false[open_rows])]
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

    def __init__(self, seen: Ints, known: Ints, n_entities: int, rng: np.random.Generator) -> None:
        self.n_entities, self.rng = n_entities, rng
        self.facts = np.sort(self._keys(known))
        self.with_loops = np.unique(known[known[:, 0] == known[:, 2], 1])
        self.places = {}
        for side, column in COLUMN.items():
            relation, entity = np.divmod(np.unique(seen[:, 1] * n_entities + seen[:, column]), n_entities)
            self.places[side] = np.searchsorted(relation, np.arange(seen[:, 1].max() + 2)), entity

    def draw(self, true: npt.NDArray[np.integer], side: Ints) -> Ints:
        """True triples with another entity of the relation on the side given, refused ones among them."""
        false: Ints = true.astype(np.int64)
        for one, column in COLUMN.items():
            rows = np.flatnonzero(side == one)
            offsets, entities = self.places[one]
            relation = true[rows, 1]
            false[rows, column] = entities[self.rng.integers(offsets[relation], offsets[relation + 1])]
        return false

    def choose(self, true: npt.NDArray[np.integer], side: int) -> Ints | None:
        """A false triple by all of the relation's entities on the side given, by those on the other, by any."""
        for anything in (False, True):
            for one in (side, 1 - side):
                offsets, entities = self.places[one]
                own = entities[offsets[true[1]] : offsets[true[1] + 1]]
                candidates = self.rng.integers(self.n_entities, size=ANY) if anything else own
                false: Ints = np.repeat(true[None].astype(np.int64), len(candidates), 0)
                false[:, COLUMN[one]] = candidates
                false = false[~self.refused(false)]
                if len(false):
                    return np.asarray(false[self.rng.integers(len(false))])
        return None

    def refused(self, triples: Ints) -> npt.NDArray[np.bool_]:
        """Known facts, and loops under relations that have none."""
        keys = self._keys(triples)
        place = np.minimum(np.searchsorted(self.facts, keys), len(self.facts) - 1)
        loop = (triples[:, 0] == triples[:, 2]) & ~np.isin(triples[:, 1], self.with_loops)
        return np.asarray((self.facts[place] == keys) | loop)

    def _keys(self, triples: Ints) -> Ints:
        return (triples[:, 1] * self.n_entities + triples[:, 0]) * self.n_entities + triples[:, 2]
