"""Scoring functions: grouping, files, and what goes wrong with them."""

import pickle

import pytest

from eras.errors import DataError, StructureError, UnknownNameError
from eras.scoring import ScoringFunction, Structure, named

DISTMULT, COMPLEX = Structure.parse("1 . / . 2"), Structure.parse("1 2 / -2 1")


@pytest.fixture
def function():
    return ScoringFunction([DISTMULT, COMPLEX], {"similar_to": 0, "hypernym": 1, "hyponym": 1}, name="two")


def test_groups_by_name(function):
    assert function.blocks == 2
    assert function.group_of("hyponym") == 1
    assert function.relations_of(1) == ("hypernym", "hyponym")
    assert function.assignment(["hyponym", "similar_to"]) == (1, 0)
    with pytest.raises(TypeError):
        function.groups["new"] = 0


def test_one_structure_scores_every_relation():
    assert named("complex").assignment(["anything", "at all"]) == (0, 0)
    assert ScoringFunction([COMPLEX], {"known": 0}).group_of("unknown") == 0


def test_missing_relations_are_listed_with_the_closest(function):
    with pytest.raises(UnknownNameError, match=r"unknown relation 'hypernim'\. Did you mean 'hypernym'"):
        function.group_of("hypernim")
    with pytest.raises(DataError, match=r"lacks 2 relations: 'hypernim' \(closest: 'hypernym'\), 'qqq'$"):
        function.assignment(["similar_to", "hypernim", "qqq"])
    with pytest.raises(DataError, match=r"lacks 9 relations: .* and 4 more$"):
        function.assignment([f"{n}{n}" for n in range(9)])


def test_transpose_swaps_head_and_tail(function):
    turned = function.transpose()
    assert [s.cells for s in turned.structures] == [DISTMULT.cells, ((1, -2), (2, 1))]
    assert turned.groups == function.groups


def test_saves_and_loads_to_the_letter(function, tmp_path):
    path = tmp_path / "function.json"
    function.save(path)
    for copy in (ScoringFunction.load(path), pickle.loads(pickle.dumps(function))):
        assert copy.to_json() == function.to_json()
        assert list(copy.groups) == list(function.groups)


@pytest.mark.parametrize(
    ("structures", "groups", "message"),
    [
        ([], {}, "at least one structure"),
        ([DISTMULT, Structure([[1]])], {"a": 0}, r"same number of blocks, not \[1, 2\]"),
        ([DISTMULT, COMPLEX], {}, "2 structures need a grouping"),
        ([DISTMULT, COMPLEX], {"a": 2}, "relation 'a' is in group 2, but the groups are 0…1"),
        ([DISTMULT, COMPLEX], {"a": True}, "relation 'a' is in group True"),
    ],
)
def test_refuses_what_makes_no_function(structures, groups, message):
    with pytest.raises(StructureError, match=message):
        ScoringFunction(structures, groups)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2 of the format is unknown: it must be 1"),
        ({"structures": 3}, 'a JSON object with "structures"'),
        ({"structures": [[[1]], [[9]]]}, "structure 2: row 1, column 1: 9 is out of range"),
        ({"groups": ["a"]}, '"groups" must map relation names to group numbers'),
        ({"blocks": 3}, '"blocks" is 3, but the matrices have 2 rows'),
        ({"name": 5}, '"name" must be text or null, not 5'),
    ],
)
def test_json_errors(function, change, message):
    with pytest.raises(StructureError, match=message):
        ScoringFunction.from_json({**function.to_json(), **change})
