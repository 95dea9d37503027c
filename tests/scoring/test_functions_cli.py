"""`eras functions`: JSON alone on standard output, text for people on standard error."""

import json

import pytest
from typer.testing import CliRunner

from eras.cli.functions import app
from eras.errors import OutputError
from eras.models import ARCHITECTURES
from eras.scoring import NAMES, ScoringFunction, Structure


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_list():
    listed = json.loads(run("list", "--json").stdout)
    assert [entry["name"] for entry in listed] == [*NAMES, *ARCHITECTURES]
    assert listed[0]["structures"][0]["can_be"] == ["symmetric"]
    assert run("list").stdout == ""


def test_show():
    shown = json.loads(run("show", "-2 1 / 1 2", "--json").stdout)["structures"][0]
    assert shown["cells"] == [[-2, 1], [1, 2]]
    assert shown["formula"] == "- <h1,r2,t1> + <h1,r1,t2> + <h2,r1,t1> + <h2,r2,t2>"
    assert shown["can_be"] == ["symmetric"]
    assert shown["canonical"] == [[1, 2], [2, -1]]
    assert run("show", "complex").stdout == ""
    assert json.loads(run("show", "conve:kernel=5", "--json").stdout)["options"]["kernel"] == 5
    assert "conve:channels=" in run("show", "conve").stderr


def test_show_for_people(tmp_path):
    path = tmp_path / "two.json"
    ScoringFunction([Structure.parse("1 2 / -2 1"), Structure.parse(". 1 / . .")], {"a": 0, "b[x]": 1}).save(path)
    text = " ".join(run("show", path).stderr.split())
    assert "score = <h1,r1,t1> + <h1,r2,t2> - <h2,r2,t1> + <h2,r1,t2>" in text
    assert "group 2: b[x]" in text
    assert "relation block 2 is unused" in text


def test_draw_does_not_overwrite_unasked(tmp_path):
    out = tmp_path / "complex.svg"
    assert json.loads(run("draw", "complex", "--out", out, "--json").stdout) == {"out": str(out)}
    first = out.read_text()
    with pytest.raises(OutputError, match=r"complex\.svg exists: .*--overwrite"):
        run("draw", "simple", "--out", out)
    assert out.read_text() == first
    run("draw", "simple", "--out", out, "--overwrite")
    assert out.read_text() != first
    with pytest.raises(OutputError, match="no folder"):
        run("draw", "simple", "--out", tmp_path / "nowhere" / "a.svg")
