"""False triples: of the right kind, never known, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eras.errors import DataError
from eras.evaluation.negatives import with_negatives

FACTS = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), min_size=2, max_size=60)


@given(FACTS, st.integers(0, 5))
def test_false_triples_are_not_known_and_differ_on_one_side(facts: set[tuple[int, int, int]], seed: int) -> None:
    known = np.array(sorted(facts))
    true = known[::2]
    loops = {r for h, r, t in facts if h == t}
    possible = {
        r for r in range(3) for h in range(6) for t in range(6) if (h, r, t) not in facts and (h != t or r in loops)
    }
    if not possible & set(true[:, 1].tolist()):
        return
    made = with_negatives(true, known, known, 6, seed)
    half = len(made) // 2
    assert made.truth.tolist() == [True] * half + [False] * half
    assert half + made.skipped == len(true)
    for a, b in zip(made.triples[:half].tolist(), made.triples[half:].tolist(), strict=True):
        assert tuple(b) not in facts
        assert b[0] != b[2] or b[1] in loops
        assert a[1] == b[1]
        assert (a[0] == b[0]) != (a[2] == b[2])
    again = with_negatives(true, known, known, 6, seed)
    assert np.array_equal(made.triples, again.triples)


def test_they_are_of_the_relations_own_kind_where_that_is_possible() -> None:
    lives = [(person, 0, city) for person in range(10) for city in (10 + person % 3,)]
    eats = [(person, 1, 13 + person % 4) for person in range(10)]
    known = np.array(lives + eats)
    made = with_negatives(known, known, known, 20, 0)
    for head, relation, tail in made.triples[~made.truth].tolist():
        assert head < 10
        assert tail in ((10, 11, 12), (13, 14, 15, 16))[relation]


def test_the_other_side_is_tried_before_entities_of_any_kind() -> None:
    """The first person has both cities, so no city makes a false triple of it; another person does."""
    known = np.array([(0, 0, 10), (0, 0, 11)] + [(person, 0, 10 + person % 2) for person in range(1, 8)])
    for seed in range(5):
        false = with_negatives(known, known, known, 20, seed).triples[len(known) :]
        assert (false[:, 0] < 8).all()
        assert set(false[:, 2].tolist()) <= {10, 11}


def test_places_are_those_that_were_seen() -> None:
    seen = np.array([(person, 0, 10 + person % 2) for person in range(8)])
    known = np.concatenate([seen, [(person, 0, 15) for person in range(8)]])
    made = with_negatives(seen, seen, known, 20, 0)
    assert 15 not in made.triples[:, 2].tolist()


def test_a_triple_without_a_false_partner_is_left_out() -> None:
    full = np.array([(h, 0, t) for h in range(3) for t in range(3)])
    with pytest.raises(DataError, match="no false triple"):
        with_negatives(full, full, full, 3, 0)
    known = np.concatenate([full, [[0, 1, 1]]])
    made = with_negatives(known, known, known, 3, 0)
    assert made.skipped == 9
    assert made.triples[0].tolist() == [0, 1, 1]
