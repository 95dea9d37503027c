"""Equal must mean equivalent: no more, no less."""

import random
import time
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from block_strategies import all_signed_permutations, orbit, random_signed_permutation, structures, transform
from eras.scoring import ScoringFunction, Structure
from eras.scoring.canonical import canonical_cells

seeds = st.integers(0, 2**32).map(random.Random)


@given(structures(), seeds)
@settings(max_examples=120, deadline=None)
def test_every_symmetry_keeps_the_canonical_form(structure, rng):
    M = structure.blocks
    twin = Structure(transform(structure.cells, random_signed_permutation(M, rng), random_signed_permutation(M, rng)))
    assert twin.canonical().cells == structure.canonical().cells
    assert twin == structure
    assert hash(twin) == hash(structure)


@given(structures())
@settings(max_examples=40, deadline=None)
def test_canonical_is_idempotent(structure):
    once = structure.canonical()
    assert once.canonical().cells == once.cells


@given(structures(st.integers(1, 3)), seeds)
@settings(max_examples=60, deadline=None)
def test_agrees_with_brute_force_up_to_three_blocks(structure, rng):
    equivalent = orbit(structure.cells)
    assert structure.canonical().cells in equivalent
    cells = [list(row) for row in rng.choice(sorted(equivalent))]
    i, j = rng.randrange(structure.blocks), rng.randrange(structure.blocks)
    cells[i][j] = rng.choice((-cells[i][j], rng.randint(-structure.blocks, structure.blocks)))
    if any(map(any, cells)):
        near = Structure(cells)
        assert (near == structure) == (near.cells in equivalent)


def test_two_blocks_have_as_many_classes_as_brute_force_finds():
    everything = {(row[:2], row[2:]) for row in product(range(-2, 3), repeat=4) if any(row)}
    by_form = {}
    for cells in everything:
        by_form.setdefault(Structure(cells).canonical().cells, set()).add(cells)
    remaining, orbits = set(everything), []
    while remaining:
        orbits.append(frozenset(orbit(next(iter(remaining)))))
        remaining -= orbits[-1]
    assert {frozenset(members) for members in by_form.values()} == set(orbits)


def test_natural_forms_are_canonical():
    for text in ("1", "1 . / . 2", "1 2 / -2 1", ". 1 / 2 .", ". 1 / . .", "1 . . / . 2 . / . . 3"):
        assert str(Structure.parse(text).canonical()) == text


def test_transposition_is_not_a_symmetry():
    path = Structure.parse("1 2 . / . . . / . . .")
    assert path != path.T
    assert Structure.parse(". 1 / . .") == Structure.parse(". 1 / . .").T  # renaming entity blocks does it


def test_equal_structures_keep_their_own_cells():
    a, b = Structure.parse("1 . / . 2"), Structure.parse("2 . / . -1")
    assert a == b
    assert {a: "x"}[b] == "x"
    assert a.cells != b.cells
    assert a.terms != b.terms


@st.composite
def functions(draw):
    M, N = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    parts = [draw(structures(st.just(M))) for _ in range(N)]
    groups = {f"relation {n}": draw(st.integers(0, N - 1)) for n in range(draw(st.integers(N, 7)))}
    return ScoringFunction(parts, groups)


@given(functions(), seeds)
@settings(max_examples=80, deadline=None)
def test_functions_share_entity_symmetries_and_own_relation_symmetries(function, rng):
    M, N = function.blocks, len(function.structures)
    entity = random_signed_permutation(M, rng)
    moved = [transform(s.cells, entity, random_signed_permutation(M, rng)) for s in function.structures]
    place = rng.sample(range(N), N)
    shuffled = [moved[place.index(n)] for n in range(N)]
    groups = {name: place[g] for name, g in function.groups.items()}
    twin = ScoringFunction(map(Structure, [*shuffled, moved[0]]), groups, name="twin with an unused group")
    assert twin == function
    assert hash(twin) == hash(function)
    form, twin_form = function.canonical(), twin.canonical()
    assert [s.cells for s in form.structures] == [s.cells for s in twin_form.structures]
    assert form.groups == twin_form.groups
    assert form.canonical().to_json() == form.to_json()


def test_pairs_of_groups_agree_with_brute_force():
    """Two groups of two blocks: equal exactly if one shared entity symmetry serves both."""
    rng = random.Random(0)
    signed = all_signed_permutations(2)
    cells = [tuple(tuple(rng.randint(-2, 2) for _ in range(2)) for _ in range(2)) for _ in range(40)]
    cells = [c for c in cells if any(map(any, c))]
    groups = {"a": 0, "b": 1}
    outcomes = set()
    for _ in range(60):
        first, second = rng.choice(cells), rng.choice(cells)
        moved_first = transform(first, rng.choice(signed), rng.choice(signed))
        moved_second = transform(second, rng.choice(signed), rng.choice(signed))
        equivalent = any(
            moved_first in {transform(first, entity, relation) for relation in signed}
            and moved_second in {transform(second, entity, relation) for relation in signed}
            for entity in signed
        )
        a = ScoringFunction([Structure(first), Structure(second)], groups)
        b = ScoringFunction([Structure(moved_first), Structure(moved_second)], groups)
        assert (a == b) == equivalent
        outcomes.add(equivalent)
    assert outcomes == {True, False}


def test_copies_of_one_structure_are_one_group():
    simple = Structure.parse(". 1 / 2 .")
    copies = ScoringFunction([simple, Structure.parse(". -2 / 1 .")], {"a": 0, "b": 1})
    assert copies == ScoringFunction([simple])
    assert copies.canonical().groups == {}
    one_turned = ScoringFunction([Structure.parse("1 . / . ."), Structure.parse(". . / . 1")], {"a": 0, "b": 1})
    assert one_turned != ScoringFunction([Structure.parse("1 . / . .")])  # equal structures, different entity blocks


def test_the_worst_case_is_fast():
    """All 40,320 orders tie on every cell of eight groups."""
    rng = random.Random(0)
    all_tied = tuple(((1,) * 8,) * 8 for _ in range(7))
    signs = tuple(tuple(rng.choice((-1, 1)) for _ in range(8)) for _ in range(8))
    canonical_cells.cache_clear()
    start = time.process_time()
    canonical_cells((*all_tied, signs))
    assert time.process_time() - start < 2  # 0.3 s on an idle core
