from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eras.errors import SettingError
from eras.scoring import Structure
from eras.search.space import Space, allowed

spaces = st.builds(Space, st.integers(2, 6), st.integers(1, 8))


@given(spaces, st.integers(0, 2**32))
def test_sampled_candidates_are_allowed_and_survive_the_round_trip(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for candidate in (space.sample(rng), space.sample(rng, density=0.6)):
        assert len(candidate) == space.groups
        assert all(s.uses_every_relation_block for s in candidate)
        tokens = space.encode(candidate)
        assert tokens.shape == (space.decisions,)
        assert tokens.max() < space.operations
        decoded = space.decode(tokens)
        assert decoded is not None
        assert [s.cells for s in decoded] == [s.cells for s in candidate]


def test_the_exploitative_constraint_and_degenerate_structures() -> None:
    space = Space(2, 1)
    spelled = {"1 2 / -2 1": True, "1 0 / 0 1": False, "1 2 / 0 0": False, "1 2 / 1 2": False, "0 0 / 0 0": False}
    for text, fine in spelled.items():
        cells = np.array([int(c) for c in text.replace("/", " ").split()])
        tokens = np.where(cells < 0, space.blocks - cells, cells)
        assert (space.decode(tokens) is not None) == fine, text
    assert not allowed([Structure([[1, 2], [-2, 1]]), Structure([[1, 0], [0, 1]])]), "every group counts"


@given(spaces, st.integers(0, 2**32))
def test_fair_samples_meet_every_operation_of_every_cell_once(space: Space, seed: int) -> None:
    tokens = space.fair(np.random.default_rng(seed))
    assert tokens.shape == (space.operations, space.decisions)
    assert (np.sort(tokens, axis=0) == np.arange(space.operations)[:, None]).all()


@given(st.builds(Space, st.integers(2, 4), st.integers(1, 3)), st.integers(0, 2**32))
def test_an_anchored_candidate_is_equivalent_and_carries_plus_r_i_in_row_i(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    candidates = [space.sample(rng, density=0.5) for _ in range(3)]
    anchored = space.anchor(np.stack([space.encode(c) for c in candidates]))
    pairs = [zip(c, space.decode(tokens) or (), strict=True) for c, tokens in zip(candidates, anchored, strict=True)]
    for original, moved in chain(*pairs):
        assert moved == original, "renaming and negating relation blocks is an equivalence"
        blocks = [{abs(c) for c in row if c} for row in original.cells]
        if all(
            len(set().union(*part)) >= len(part) for n in range(space.blocks) for part in combinations(blocks, n + 1)
        ):
            assert all(i in row for i, row in enumerate(moved.cells, start=1)), "Hall: every row can have its own"


def test_sizes_that_are_not_searched() -> None:
    with pytest.raises(SettingError, match="2 to 6 blocks"):
        Space(7, 1)
    with pytest.raises(SettingError, match="1 to 8 groups"):
        Space(4, 9)
