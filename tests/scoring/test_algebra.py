"""What g(r) can be, against enumeration and known facts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from block_strategies import structures
from eras.scoring import Structure, named
from eras.scoring.algebra import generic_rank


def g(structure, r):
    matrix = np.zeros((structure.blocks, structure.blocks))
    for i, row in enumerate(structure.cells):
        for j, entry in enumerate(row):
            matrix[i, j] = np.sign(entry) * r[abs(entry) - 1] if entry else 0
    return matrix


@given(structures(st.integers(1, 4)))
@settings(max_examples=80, deadline=None)
def test_patterns_agree_with_enumeration(structure):
    """The conditions on r are r_a = ±r_b and r_a = 0, so r in {-1, 0, 1}^M shows whatever is possible."""
    symmetric = skew = general = False
    for r in product((-1, 0, 1), repeat=structure.blocks):
        matrix = g(structure, r)
        if matrix.any():
            is_symmetric, is_skew = (matrix == matrix.T).all(), (matrix == -matrix.T).all()
            symmetric |= is_symmetric
            skew |= is_skew
            general |= not (is_symmetric or is_skew)
    found = (structure.can_be_symmetric, structure.can_be_skew_symmetric, structure.can_be_general)
    assert found == (symmetric, skew, general)


@pytest.mark.parametrize(
    ("name", "symmetric", "skew", "general"),
    [
        ("distmult", True, False, False),
        ("complex", True, True, True),
        ("simple", True, True, True),
        ("analogy", True, True, True),
        ("cp", False, False, True),
        ("autosf-fb15k237", True, False, True),
    ],
)
def test_patterns_of_known_functions(name, symmetric, skew, general):
    s = named(name).structures[0]
    assert (s.can_be_symmetric, s.can_be_skew_symmetric, s.can_be_general) == (symmetric, skew, general)


def test_a_skew_only_structure():
    s = Structure.parse(". 1 / -1 .")
    assert (s.can_be_symmetric, s.can_be_skew_symmetric, s.can_be_general) == (False, True, False)


@given(structures(st.integers(1, 6)), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_generic_rank_agrees_with_random_points(structure, seed):
    points = np.random.default_rng(seed).uniform(1, 3, (3, structure.blocks))
    assert generic_rank(structure.cells) == max(np.linalg.matrix_rank(g(structure, r)) for r in points)


def test_rank_that_no_zero_row_explains():
    hidden = Structure.parse("1 2 / 1 2")
    assert hidden.degeneracies() == ("g(r) is singular for every r: its rank is at most 1 of 2",)


def test_degeneracies_are_named():
    assert named("cp").structures[0].degeneracies() == (
        "row 2 is zero: the score ignores head block 2",
        "column 1 is zero: the score ignores tail block 1",
        "relation block 2 is unused",
        "g(r) is singular for every r: its rank is at most 1 of 2",
    )
    assert named("complex").structures[0].degeneracies() == ()


def test_the_exploitative_constraint():
    assert Structure.parse(". 1 / -2 .").uses_every_relation_block
    assert not Structure.parse("1 1 / -1 1").uses_every_relation_block
