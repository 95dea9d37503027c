"""Random structures, and the symmetries of the canonical form, for property tests."""

from __future__ import annotations

import random
from itertools import permutations, product

from hypothesis import strategies as st

from eras.scoring import Structure
from eras.scoring.text import Cells


@st.composite
def structures(draw: st.DrawFn, blocks: st.SearchStrategy[int] | None = None, labels: int | None = None) -> Structure:
    """`labels` bounds the relation blocks used: few labels make many ties."""
    M = draw(blocks if blocks is not None else st.integers(1, 8))
    largest = min(labels or draw(st.integers(1, M)), M)
    rng = random.Random(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0.2, 0.5, 0.8, 1.0]))
    cells = [[rng.randint(1, largest) * (rng.random() < density) for _ in range(M)] for _ in range(M)]
    cells[rng.randrange(M)][rng.randrange(M)] = rng.randint(1, largest)
    if draw(st.booleans()):
        cells = [[entry * rng.choice((-1, 1)) for entry in row] for row in cells]
    return Structure(cells)


SignedPermutation = tuple[tuple[int, ...], tuple[int, ...]]  # where each block goes, and its sign


def random_signed_permutation(M: int, rng: random.Random) -> SignedPermutation:
    return tuple(rng.sample(range(M), M)), tuple(rng.choice((-1, 1)) for _ in range(M))


def all_signed_permutations(M: int) -> list[SignedPermutation]:
    return list(product(permutations(range(M)), product((-1, 1), repeat=M)))


def transform(cells: Cells, entity: SignedPermutation, relation: SignedPermutation) -> Cells:
    """Rename and negate blocks: the literal definition of the symmetries."""
    M = len(cells)
    to, sign = entity
    relation_to, relation_sign = relation
    result = [[0] * M for _ in range(M)]
    for i, j in product(range(M), repeat=2):
        if cells[i][j]:
            k = abs(cells[i][j]) - 1
            s = 1 if cells[i][j] > 0 else -1
            result[to[i]][to[j]] = s * sign[i] * sign[j] * relation_sign[k] * (relation_to[k] + 1)
    return tuple(map(tuple, result))


def orbit(cells: Cells) -> set[Cells]:
    """Everything equivalent to `cells`, by brute force."""
    signed = all_signed_permutations(len(cells))
    return {transform(cells, entity, relation) for entity in signed for relation in signed}
