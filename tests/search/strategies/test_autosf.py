from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from block_strategies import structures
from eras.scoring import ScoringFunction, Structure
from eras.scoring.named import named
from eras.search.space import Space, allowed
from eras.search.strategies.autosf import AutoSF, first_candidates
from eras.search.strategies.features import shape_features, symmetry_features, value_features

PUBLISHED = ["autosf-wn18", "autosf-wn18rr", "autosf-fb15k", "autosf-fb15k237", "autosf-yago3-10"]
SPACE = Space(4, 1)


@pytest.mark.parametrize(("blocks", "count"), [(2, 2), (3, 3), (4, 5), (5, 7)])
def test_the_first_structures_are_the_permutations_up_to_equivalence(blocks: int, count: int) -> None:
    """As many as there are cycle types."""
    first = first_candidates(Space(blocks, 1))
    assert len(first) == len({ScoringFunction(c) for c in first}) == count
    assert all(allowed(c) for c in first)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_functions_can_be_reached(name: str) -> None:
    """Every step that leads to one, from a first structure on, is a step of the generator."""
    target = np.array(named(name).structures[0].cells)
    path = _way_down(target)
    assert path is not None
    start, *steps = reversed(path)
    assert ScoringFunction([Structure(start.tolist())]) in [ScoringFunction(c) for c in first_candidates(SPACE)]
    before = start
    for after in steps:
        added = np.flatnonzero(before.ravel() != after.ravel())
        strategy = AutoSF(SPACE, 0)
        strategy.rng = _Scripted(added, SPACE.encode((Structure(after.tolist()),))[added])  # type: ignore[assignment]  # a stand-in
        grown = strategy._grown(SPACE.encode((Structure(before.tolist()),)))
        assert SPACE.decode(grown) == (Structure(after.tolist()),)
        before = after
    assert np.count_nonzero(target) <= strategy.most if steps else True


def _way_down(cells: np.ndarray) -> list[np.ndarray] | None:
    """Two cells taken away at a time, every structure on the way allowed, until a first structure is left."""
    if not allowed([Structure(cells.tolist())]):
        return None
    filled = np.argwhere(cells)
    if len(filled) == 4:
        return [cells]
    for a in range(len(filled)):
        for b in range(a):
            fewer = cells.copy()
            fewer[tuple(filled[[a, b]].T)] = 0
            if fewer.any() and (rest := _way_down(fewer)):
                return [cells, *rest]
    return None


class _Scripted:
    """A random generator that chooses these cells and fills them with these tokens, if both are on offer."""

    def __init__(self, cells: np.ndarray, tokens: np.ndarray) -> None:
        self.cells, self.tokens = cells, tokens

    def choice(self, offered: np.ndarray, size: int, replace: bool) -> np.ndarray:
        assert set(self.cells) <= set(offered)
        assert size == len(self.cells)
        assert not replace
        return self.cells

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        assert all(low <= token < high for token in self.tokens)
        return self.tokens


def test_functions_grow_round_by_round_and_begin_anew_at_the_largest_size() -> None:
    strategy = AutoSF(SPACE, 0, cells=8, candidates=32)
    sizes, seen = [], []
    for _ in range(6):
        tokens = strategy.sample(8)
        sizes.append({np.count_nonzero(row) for row in tokens})
        seen += [ScoringFunction(SPACE.decode(row) or ()) for row in tokens]
        strategy.learn(tokens, np.random.default_rng(0).random((len(tokens), 1)))
    assert sizes == [{4}, {6}, {8}, {6}, {8}, {6}]
    assert len(seen) == len(set(seen)), "nothing is proposed twice, not even under another name"


def test_the_predictor_finds_what_makes_functions_good() -> None:
    """Where structures that can be symmetric in many ways earn most, they are proposed far above chance."""
    strategy = AutoSF(SPACE, 0, cells=6, candidates=128)

    def reward(tokens: np.ndarray) -> np.ndarray:
        decoded = [SPACE.decode(row) for row in tokens]
        return np.array([[symmetry_features(c[0])[:11].mean()] for c in decoded if c is not None])

    facts: dict[str, float] = {}
    earned = []
    for _ in range(5):
        tokens = strategy.sample(8)
        facts = strategy.learn(tokens, reward(tokens))
        earned.append(reward(tokens).mean())
    by_chance = reward(np.array(strategy._pool())).mean()
    assert facts["predictor_correlation"] > 0.5
    assert np.mean(earned[1:]) > 3 * by_chance


def test_the_successor_varies_the_best_of_any_size() -> None:
    strategy = AutoSF(Space(4, 2), 0, candidates=32, evolving=True)
    for _ in range(4):
        tokens = strategy.sample(8)
        strategy.learn(tokens, np.random.default_rng(1).random((len(tokens), 2)))
    sizes = {np.count_nonzero(row) for row in tokens}
    assert len(sizes) > 1
    assert all(strategy.space.decode(row) is not None for row in tokens)


@given(structures(blocks=st.integers(2, 4)))
def test_features_do_not_depend_on_names_and_say_what_a_relation_can_be(structure: Structure) -> None:
    features = symmetry_features(structure)
    assert set(features) <= {0.0, 1.0}
    assert len(features) == {2: 6, 3: 10, 4: 22}[structure.blocks]
    cells = np.array(structure.cells)
    M = structure.blocks
    renamed = Structure((-np.sign(cells) * (M + 1 - np.abs(cells)) * (cells != 0)).tolist())
    assert np.array_equal(symmetry_features(renamed), features)
    assert np.array_equal(shape_features(renamed), shape_features(structure))
    assert np.array_equal(value_features(renamed), value_features(structure))
    skew = any(
        np.array_equal(g, -g.T)
        for values in np.ndindex(*(2 * M,) * M)
        for g in [np.sign(cells) * _levels(values, M)[np.abs(cells)]]
    )
    assert bool(features[len(features) // 2 :].any()) == skew


def _levels(values: tuple[int, ...], M: int) -> np.ndarray:
    """The value of the empty cell, then those of the blocks, each of ±1 … ±M."""
    return np.array([0, *(v - M if v < M else v - M + 1 for v in values)])
