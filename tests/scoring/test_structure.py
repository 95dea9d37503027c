"""The structure as a value: validation, text and JSON."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given

from block_strategies import structures
from eras.errors import StructureError
from eras.scoring import Structure

COMPLEX = ((1, 2), (-2, 1))


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n-2 1",
        "1 2 / -2 1",
        "1,2;-2,1;",
        "# ComplEx\n\n  +1, r2   # first row\n −r2\t+r1\n",
        "1 2\r\n-2 1\r\n",
    ],
)
def test_ways_to_write_complex(text):
    assert Structure.parse(text).cells == COMPLEX


def test_dot_and_zero_are_empty():
    assert Structure.parse(". 1 / 2 0").cells == ((0, 1), (2, 0))


@given(structures())
def test_round_trips(structure):
    forms = [
        Structure.parse(structure.to_text()),
        Structure.parse(str(structure)),
        eval(repr(structure)),
        Structure.from_json(structure.to_json()),
        Structure(np.array(structure.cells)),
        pickle.loads(pickle.dumps(structure)),
        structure.T.T,
    ]
    assert all(form.cells == structure.cells for form in forms)


def test_terms_are_in_row_order():
    assert Structure(COMPLEX).terms == ((0, 0, 0, 1), (0, 1, 1, 1), (1, 0, 1, -1), (1, 1, 0, 1))
    assert Structure(COMPLEX).T.cells == ((1, -2), (2, 1))


def test_is_immutable():
    structure = Structure(COMPLEX)
    with pytest.raises(AttributeError):
        structure.cells = ((1,),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n\n-2 x1", "f.txt, line 3: 'x1' is not an entry: write a signed relation block such as 2"),
        ("1 2.5 / 1 2", "f.txt, line 1: '2.5' is not an entry"),
        ("1 2\n1 2 3", "f.txt, line 2: row 2 has 3 entries, but there are 2 rows: a structure is square"),
        ("1 2\n1 -r3", "f.txt, line 2: '-r3' names relation block 3, but a 2×2 structure has 2"),
        ("# nothing\n", "f.txt holds no structure: write rows such as"),
        ("/".join(["1 " * 9] * 9), "f.txt has 9 rows: a structure has 1 to 8 blocks"),
        ("0 0 / . .", "every entry is 0"),
    ],
)
def test_text_errors_name_line_and_token(text, message):
    with pytest.raises(StructureError, match=re.escape(message)):
        Structure.parse(text, source="f.txt")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "a structure has 1 to 8 blocks, not 0"),
        ([[1] * 9] * 9, "a structure has 1 to 8 blocks, not 9"),
        ([[1, 2], [1]], "row 2 has 1 entries, but there are 2 rows"),
        ([[1, 2], [3, 1]], "row 2, column 1: 3 is out of range: write a number in -2…2"),
        ([[1, 2.0], [1, 1]], "row 1, column 2: 2.0 is not an integer in -2…2"),
        ([[True]], "row 1, column 1: True is not an integer"),
        ([[0]], "every entry is 0"),
        (5, "5 is not a matrix"),
        ([5], "[5] is not a matrix"),
    ],
)
def test_cell_errors_name_the_place(cells, message):
    with pytest.raises(StructureError, match=re.escape(message)):
        Structure(cells)


@pytest.mark.parametrize("value", ["1 2", {"cells": []}, [1, 2], None])
def test_json_must_be_a_list_of_rows(value):
    with pytest.raises(StructureError, match="is not a structure: write a list of rows"):
        Structure.from_json(value)
