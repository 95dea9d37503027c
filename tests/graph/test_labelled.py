"""Labelled triples: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from eras.errors import DataError
from eras.graph import Vocabulary
from eras.graph.labelled import read_labelled

ENTITIES = Vocabulary("entity", pl.Series(["a", "b", "c"]), pl.Series([None, "Bee", None]))
RELATIONS = Vocabulary("relation", pl.Series(["likes"]))


def read(tmp_path: Path, text: str, **options: bool):
    path = tmp_path / "labelled.txt"
    path.write_text(text)
    return read_labelled(path, ENTITIES, RELATIONS, **options)


@pytest.mark.parametrize(
    "text",
    [
        "a\tlikes\tb\t1\nb\tlikes\tc\t0\n",
        "a\tlikes\tb\t+1\n\nb\tlikes\tc\t-1\n",
        "a likes b 1\nb likes c 0",
        "a,likes,b,1\nBee,likes,c,-1\n",
        "label,tail,head,relation\n1,b,a,likes\n0,c,b,likes\n",
    ],
)
def test_layouts(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert found.triples.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert found.truth.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no triples"),
        ("head\trelation\ttail\tlabel\n", "holds no triples"),
        ("a\tlikes\tb\t1\nb\tlikes\tc\tyes\n", r"line 2: label 'yes'; expected 1 \(true\) or 0"),
        ("a\tlikes\tb\t1\nb\tlikes\tc\t0\nb\tlikes\ta\t-1\n", "line 3: label '-1' in a file that has 0 too"),
        ("a\tlikes\tb\t1\nb\tlikes\tc\t1\n", "all 2 triples are labelled true; expected some of both"),
        ("a\tlikes\tb\nb\tlikes\tc\n", "line 1: expected 4 fields"),
        ('a,likes,b,1\n"a,likes,b,1\n', "a quote is left open"),
        ("a\tb\n", "line 1: expected 4 fields"),
        ("a\tlikes\tb\t1\nb\tlikes\tc\n", "line 2: expected 4 fields"),
        ("a\tlikes\tx\t1\ny\tloves\tb\t0\n", r"2 of 2 triples.*entity 'x' \(line 1\), entity 'y' \(line 2\), relation"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_unknown_names_can_be_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, "a\tlikes\tb\t1\na\tlikes\tx\t1\nb\tlikes\tc\t0\n", skip_unknown=True)
    assert (len(found), found.skipped) == (2, 1)
    with pytest.raises(DataError, match="every triple has a name"):
        read(tmp_path, "x\tlikes\tb\t1\nx\tlikes\ta\t0\n", skip_unknown=True)
