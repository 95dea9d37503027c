"""Everything a user may write where a function is asked for."""

import json
import re

import pytest

from eras.errors import DataError, StructureError, UnknownNameError
from eras.scoring import ScoringFunction, Structure, load_function, named

COMPLEX = ((1, 2), (-2, 1))


@pytest.mark.parametrize("spec", ["complex", "ComplEx", "1 2 / -2 1", "1,2;-2,1", "1 2\n-2 1", "r1 r2 / -r2 r1"])
def test_names_and_inline_structures(spec):
    assert load_function(spec).structures[0].cells == COMPLEX


def test_one_number_is_distmult():
    assert load_function("1") == named("distmult")


def test_files(tmp_path):
    text, matrix, saved = tmp_path / "mine.txt", tmp_path / "matrix.json", tmp_path / "function.json"
    text.write_text("# mine\n1 2\n-2 1\n")
    matrix.write_text("[[1, 2], [-2, 1]]")
    ScoringFunction([Structure(COMPLEX)], {"r": 0}, "saved").save(saved)
    for path in (text, matrix, saved):
        assert load_function(path).structures[0].cells == COMPLEX
        assert load_function(str(path)).to_json() == load_function(path).to_json()
    assert load_function(text).name == "mine"
    assert load_function(saved).groups == {"r": 0}


def test_a_file_called_like_a_name_needs_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "complex").write_text("1")
    assert load_function("complex").blocks == 2
    assert load_function("./complex").blocks == 1
    with pytest.raises(DataError, match="no file simple"):
        load_function("./simple")


@pytest.mark.parametrize("spec", ["nowhere.json", "folder/nowhere", "../nowhere", "1.txt"])
def test_a_missing_file_is_not_an_unknown_name(spec):
    with pytest.raises(DataError, match=f"no file {re.escape(spec)}: give a file with a structure"):
        load_function(spec)


@pytest.mark.parametrize("spec", ["complx", "", "best", "long" * 100])
def test_an_unknown_name_is_not_a_missing_file(spec):
    with pytest.raises(UnknownNameError, match=f"unknown scoring function '{spec}'"):
        load_function(spec)


def test_a_mistake_in_an_inline_structure_is_reported_as_such():
    with pytest.raises(StructureError, match="line 1: 'x' is not an entry"):
        load_function("1 2 / -2 x")
    with pytest.raises(StructureError, match="row 2 has 9 entries"):
        load_function("1 2 / " + "1 " * 9)


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.json", '{\n"x": }', DataError, r"a.json, line 2: not valid JSON"),
        ("a.json", "[[1, 5], [1, 1]]", StructureError, r"a.json: row 1, column 2: 5 is out of range"),
        ("a.json", "{}", StructureError, r"a.json: a scoring function is a JSON object"),
        ("a.txt", "1 2\n1 z", StructureError, r"a.txt, line 2: 'z' is not an entry"),
        ("a.txt", "\xff\xfe", DataError, r"a.txt cannot be read as text"),
    ],
)
def test_errors_in_files_name_the_file(tmp_path, name, content, error, message):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(error, match=message):
        load_function(path)


def test_a_folder_is_not_a_function(tmp_path):
    with pytest.raises(DataError, match=r"is a folder: give a file .*function\.json"):
        load_function(tmp_path)


def test_json_of_a_function_is_plain(tmp_path):
    named("complex").save(tmp_path / "f.json")
    value = json.loads((tmp_path / "f.json").read_text())
    assert value["version"] == 1
    assert value["structures"] == [[[1, 2], [-2, 1]]]
