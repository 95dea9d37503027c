"""Everything a user can get wrong: the message names the file, the line and the value."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import zstandard
from graph_files import RING, lines, write

from eras.errors import DataError, SettingError, UnknownNameError, UsageError
from eras.graph import load_graph

GOOD = "a\tr\tb\nb\tr\tc\nc\tr\ta\n"

BAD_TEXT: dict[str, tuple[str | bytes, list[str]]] = {
    "two fields": (GOOD + "c\tr\n", ["line 4", "2 fields", "'c\\tr'", "3 fields (head, relation, tail)"]),
    "five fields": (GOOD + "\n1\t2\t3\t4\t5\n", ["line 5", "5 fields", "'1\\t2\\t3\\t4\\t5'", "columns"]),
    "long line": (GOOD + "x" * 500 + "\n", ["line 4", "1 field ", "xxx…"]),
    "all lines too short": ("a b\nc d\n", ["line 1", "2 fields separated by spaces", "'a b'"]),
    "all lines too long": ("a,b,c,d\nc,d,e,f\n", ["line 1", "4 fields separated by commas", "columns"]),
    "mixed delimiters": (GOOD + "a,r,c\n", ["line 4", "mixed", "separated by commas", "the others by tabs"]),
    "undecodable": (GOOD.encode() + b"c\tr\xff\tb\n", ["line 4", "byte 4", "0xff", "UTF-8"]),
    "UTF-16": (GOOD.encode("utf-16"), ["line 1", "byte 1", "0xff", "UTF-8"]),
    "empty field": (GOOD + "\nc\t \tb\n", ["line 5", "relation is empty", "'c', '', 'b'"]),
    "open quote": ('a,r,b\nb,r,c\nc,r,"d\n', ["line 3", "quote", "c,r,"]),
    "empty": ("", ["no triples", "head, relation, tail"]),
    "blank": ("\n \n\r\n", ["no triples"]),
    "header only": ("head\trelation\ttail\n", ["no triples"]),
    "one entity": ("a\tr\ta\na\ts\ta\n", ["one entity", "'a'"]),
    "nothing to hold out": ("a\tr\tb\nc\tr\td\n", ["validation", "2 of 2"]),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text(tmp_path: Path, case: str) -> None:
    content, expected = BAD_TEXT[case]
    path = write(tmp_path / "facts.txt", content)
    with pytest.raises(DataError) as caught:
        load_graph(path)
    assert [part for part in [str(path), *expected] if part not in str(caught.value)] == []


def test_line_numbers_hold_across_blocks_headers_and_blank_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eras.graph.streams.BLOCK_BYTES", 64)
    text = "\nhead\trelation\ttail\n\n" + lines(RING, end="\r\n\n") + "c\tr\n"
    path = write(tmp_path / "x.tsv.gz", text)
    with pytest.raises(DataError, match=rf"x\.tsv\.gz, line {text.count(chr(10))}: 2 fields"):
        load_graph(path)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ((1, 2), "three different"),
        ((1, 2, 2), "three different"),
        ((1, 2, 9), "no column 9; columns are numbered 1 to 4"),
        ((0, 1, 2), "no column 0"),
        (("who", "what", "whon"), "'whon'.*'whom'.*The columns are 'who', 'what', 'whom', 'when'"),
    ],
)
def test_bad_columns(tmp_path: Path, columns: tuple[str, ...], expected: str) -> None:
    path = write(tmp_path / "x.csv", "who,what,whom,when\na,r,b,1\nb,r,c,2\n")
    with pytest.raises(DataError, match=expected):
        load_graph(path, columns=columns)


def test_bad_frames() -> None:
    with pytest.raises(DataError, match=r"4 columns \(a, b, c, d\), expected 3"):
        load_graph(pl.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"], "d": [1]}))
    with pytest.raises(DataError, match="row 2: the tail is empty"):
        load_graph(pd.DataFrame({"h": ["a", "b"], "r": ["r", "r"], "t": ["b", None]}))
    with pytest.raises(DataError, match="head column holds Float64"):
        load_graph(pl.DataFrame({"h": [1.5], "r": ["r"], "t": ["b"]}))
    with pytest.raises(DataError, match="'trian'"):
        load_graph({"trian": pl.DataFrame({"h": ["a"], "r": ["r"], "t": ["b"]})})
    with pytest.raises(DataError, match="no 'train' among 'test'"):
        load_graph({"test": pl.DataFrame({"h": ["a"], "r": ["r"], "t": ["b"]})})
    with pytest.raises(UsageError, match="from a int"):
        load_graph(3)


def test_missing_files_and_unknown_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "triples.tsv", GOOD)
    with pytest.raises(DataError, match=r"tripels\.tsv: no such file or folder.*'triples\.tsv'"):
        load_graph(tmp_path / "tripels.tsv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERAS_DATA", str(tmp_path))
    (tmp_path / "genes").mkdir()
    with pytest.raises(UnknownNameError, match=r"unknown data set 'wn18r'.*'wn18rr'"):
        load_graph("wn18r")
    with pytest.raises(UnknownNameError, match="'genes'"):
        load_graph("gene")


def test_folders_that_are_not_graphs(tmp_path: Path) -> None:
    write(tmp_path / "a" / "notes.txt", "x")
    with pytest.raises(DataError, match=r"no training triples.*Looked for train, valid.*found notes\.txt"):
        load_graph(tmp_path / "a")
    write(tmp_path / "b" / "train.txt", GOOD)
    write(tmp_path / "b" / "train.tsv.gz", GOOD)
    with pytest.raises(DataError, match=r"two files could be the train split, train\.tsv\.gz and train\.txt"):
        load_graph(tmp_path / "b")
    write(tmp_path / "c" / "train.txt", GOOD)
    write(tmp_path / "c" / "valid.txt", "")
    with pytest.raises(DataError, match=r"valid\.txt: the file holds no triples"):
        load_graph(tmp_path / "c")


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstandard.compress)])
def test_truncated_and_misnamed_archives(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    content = compress(lines(RING * 50).encode())
    path = tmp_path / f"x.tsv{suffix}"
    for data in (content[:-9], lines(RING).encode()):
        path.write_bytes(data)
        with pytest.raises(DataError, match=rf"x\.tsv\{suffix}: not a whole"):
            load_graph(path)


def test_bad_rdf_parquet_and_openke(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.nt, line 2: not valid N-Triples"):
        load_graph(write(tmp_path / "x.nt", "<http://a> <http://b> <http://c> .\n<http://a> <http://b> .\n"))
    with pytest.raises(DataError, match="columns cannot be chosen"):
        load_graph(write(tmp_path / "y.nt", ""), columns=(1, 2, 3))
    with pytest.raises(DataError, match=r"x\.parquet: cannot be read as Parquet"):
        load_graph(write(tmp_path / "x.parquet", "PAR1 no"))
    folder = tmp_path / "openke"
    write(folder / "train2id.txt", "2\n0 1 0\n0 7 0\n")
    with pytest.raises(DataError, match=r"entity2id\.txt: missing"):
        load_graph(folder)
    write(folder / "entity2id.txt", "2\na\t0\nb\t1\n")
    write(folder / "relation2id.txt", "1\nr\tx\n")
    with pytest.raises(DataError, match=r"relation2id\.txt, line 2: expected a name and a new number"):
        load_graph(folder)
    write(folder / "relation2id.txt", "1\nr\t0\n")
    with pytest.raises(DataError, match=r"train2id\.txt: tail '7' is not in entity2id\.txt"):
        load_graph(folder)
    write(folder / "train2id.txt", "3\n0 1 0\n1 0 0\n")
    with pytest.raises(DataError, match="announces 3 triples, but 2 follow"):
        load_graph(folder)


@pytest.mark.parametrize("holdout", [(0.0, 0.1), (0.5, 0.5), (0.1, -0.1)])
def test_impossible_holdout(tmp_path: Path, holdout: tuple[float, float]) -> None:
    with pytest.raises(SettingError, match="holdout"):
        load_graph(write(tmp_path / "x.tsv", GOOD), holdout=holdout)


def test_labels_of_another_graph(tmp_path: Path) -> None:
    source = write(tmp_path / "x.tsv", lines(RING))
    with pytest.raises(DataError, match=r"none of its 1 ids.*'Q1'.*'e0'"):
        load_graph(source, labels=write(tmp_path / "names.tsv", "Q1\tone\n"))
    with pytest.raises(DataError, match=r"bad\.tsv, line 2: 1 field"):
        load_graph(source, labels=write(tmp_path / "bad.tsv", "e1\tone\ne2\n"))
    with pytest.raises(DataError, match=r"gone\.tsv: cannot be read"):
        load_graph(source, labels=tmp_path / "gone.tsv")
