from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from graph_files import RING, SPLIT_RING, Triple, facts, lines, write
from hypothesis import given
from hypothesis import strategies as st

from eras.graph import load_graph, streams
from eras.graph.frames import read_parquet
from eras.graph.readers import Findings, read_file
from eras.graph.text import read_text


def triples_of(path: Path, **options: object) -> list[Triple]:
    return [row for block in read_text(path, **options) for row in block.iter_rows()]  # type: ignore[arg-type,misc]  # options of any kind


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize(
    ("suffix", "delimiter"), [(".tsv", "\t"), (".csv", ","), (".csv", ";"), (".txt", "|"), ("", " ")]
)
def test_every_delimiter_and_compression(tmp_path: Path, suffix: str, delimiter: str, compression: str) -> None:
    path = write(tmp_path / f"ring{suffix}{compression}", lines(RING, delimiter))
    assert triples_of(path) == RING
    graph = load_graph(path)
    assert facts(graph) == set(RING)
    assert graph.name == "ring"


NAME = st.text(
    st.characters(codec="utf-8", exclude_characters='\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"'),
    min_size=1,
    max_size=8,
).filter(lambda text: text == text.strip())
ROWS = st.lists(st.tuples(NAME, NAME, NAME), min_size=3, max_size=30)


@given(ROWS, st.sampled_from(["\n", "\r\n", "\n\n", "\r\n \r\n"]), st.integers(1, 200))
def test_tab_separated_text_is_read_as_written(rows: list[Triple], end: str, block: int) -> None:
    """Whatever the names hold, however lines end, and wherever blocks are cut."""
    rows = [("a", "b", "c"), *rows]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK_BYTES", block)
        path = write(Path(folder) / "x.tsv", lines(rows, end=end).removesuffix(end))
        assert triples_of(path, columns=(1, 2, 3)) == rows


QUOTED = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(QUOTED, QUOTED, QUOTED), min_size=1, max_size=20))
def test_csv_quotes_are_understood(rows: list[Triple]) -> None:
    rows = [("a", "b", "c")] * (2 * len(rows)) + rows  # the sample must show that commas separate
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        assert triples_of(write(Path(folder) / "x.csv", text.getvalue()), columns=(1, 2, 3)) == rows


def test_quotes_belong_to_the_name_in_tab_separated_text(tmp_path: Path) -> None:
    rows = [('"Heroes"', "by", "Bowie"), ("Heroes", "by", 'Al "W" Y'), ('"', "by", "x")]
    assert triples_of(write(tmp_path / "x.txt", lines(rows))) == rows


def test_runs_of_spaces_byte_order_mark_and_surrounding_space(tmp_path: Path) -> None:
    spaces = write(tmp_path / "x.txt", "a  r b\n\n  c r   d \r\ne r f")
    assert triples_of(spaces) == [("a", "r", "b"), ("c", "r", "d"), ("e", "r", "f")]
    marked = write(tmp_path / "y.csv", b"\xef\xbb\xbfa , r,b\r\n c,r , d\r\n")
    assert triples_of(marked) == [("a", "r", "b"), ("c", "r", "d")]


def test_headers_and_chosen_columns(tmp_path: Path) -> None:
    reordered = write(tmp_path / "a.csv", "object,id,subject,predicate\nb,1,a,r\nd,2,c,r\n")
    assert triples_of(reordered) == [("a", "r", "b"), ("c", "r", "d")]
    wide = write(tmp_path / "b.tsv", "x\ta\tr\tb\ny\tc\tr\td\n")
    assert triples_of(wide, columns=(2, 3, 4)) == [("a", "r", "b"), ("c", "r", "d")]
    named = write(tmp_path / "c.tsv", "who\twhat\twhom\na\tr\tb\n")
    assert triples_of(named, columns=("whom", "what", "who")) == [("b", "r", "a")]
    numbered_header = write(tmp_path / "d.tsv", "h\tt\tr\tx\na\tb\tr\t1\n")
    assert triples_of(numbered_header, columns=(1, 3, 2)) == [("a", "r", "b")]


def test_parquet_and_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame(RING, schema=["subject", "predicate", "object"], orient="row")
    frame.select("object", "subject", "predicate").write_parquet(tmp_path / "ring.parquet")
    monkeypatch.setattr("eras.graph.frames.BLOCK_ROWS", 7)
    assert pl.concat(read_parquet(tmp_path / "ring.parquet", None)).rows() == RING
    expected = load_graph(tmp_path / "ring.parquet").fingerprint
    pandas_frame = pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
    swapped = frame.rename({"subject": "a", "predicate": "b", "object": "c"})
    assert load_graph(frame).fingerprint == expected
    assert load_graph(pandas_frame).fingerprint == expected
    assert load_graph(swapped, columns=("a", "b", "c")).fingerprint == expected
    numbers = pd.DataFrame({"h": [1, 2, 3, 1, 2], "r": [0, 0, 0, 0, 0], "t": [2, 3, 1, 3, 1]})
    assert load_graph(numbers).entities.names.to_list() == ["1", "2", "3"]


def test_mapping_of_frames_keeps_its_splits() -> None:
    frames = {split: pl.DataFrame(rows, orient="row") for split, rows in SPLIT_RING.items()}
    graph = load_graph({"train": frames["train"], "validation": frames["valid"], "test": frames["test"]})
    assert {split: facts(graph, split) for split in SPLIT_RING} == {s: set(r) for s, r in SPLIT_RING.items()}


TURTLE = """
@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a :knows :b , :c ; rdfs:label "Anna"@de , "Ann"@en ; :age 7 .
:b :knows _:someone . _:someone :knows [ :knows :a ] . :c :knows :a ; rdfs:label "Chlodwig"@de .
:knows rdfs:label "is acquainted with" .
"""


@pytest.mark.parametrize("suffix", [".ttl", ".ttl.gz", ".nt", ".nt.zst"])
def test_rdf_literals_become_labels_or_a_note(tmp_path: Path, suffix: str) -> None:
    import pyoxigraph as rdf

    content: str | bytes = TURTLE
    if ".nt" in suffix:
        quads = rdf.parse(input=TURTLE, format=rdf.RdfFormat.TURTLE)
        triples = (rdf.Triple(q.subject, q.predicate, q.object) for q in quads)
        content = rdf.serialize(triples, format=rdf.RdfFormat.N_TRIPLES) or b""
    path = write(tmp_path / f"people{suffix}", content)
    graph, again = load_graph(path), load_graph(path)
    assert len(facts(graph)) == 6
    assert graph.fingerprint == again.fingerprint
    assert graph.entities.id("Ann") == graph.entities.id("http://x/a")
    assert graph.entities.label(graph.entities.id("http://x/c")) == "Chlodwig"
    assert graph.relations.id("is acquainted with") == 0
    assert "_:someone" in graph.entities.names
    assert any("1 triples with a literal" in note for note in graph.notes)


def test_openke_folder(tmp_path: Path) -> None:
    entities = sorted({name for h, _, t in RING for name in (h, t)})
    table = "".join(f"{name}\t{i}\n" for i, name in enumerate(entities))
    write(tmp_path / "entity2id.txt", f"12\n{table}")
    write(tmp_path / "relation2id.txt", "3\np q\t0\nq\t1\nr\t2\n")
    for split, rows in SPLIT_RING.items():
        numbers = "".join(f"{entities.index(h)} {entities.index(t)} {'pqr'.index(r)}\n" for h, r, t in rows)
        write(tmp_path / f"{split}2id.txt", f"{len(rows)}\n{numbers}")
    write(tmp_path / "type_constrain.txt", "3\n")
    graph = load_graph(tmp_path)
    renamed = {split: {(h, r.replace("p", "p q"), t) for h, r, t in rows} for split, rows in SPLIT_RING.items()}
    assert {split: facts(graph, split) for split in SPLIT_RING} == renamed


def test_every_format_gives_the_same_graph(tmp_path: Path) -> None:
    for split, path in {"train": "train.csv.zst", "valid": "dev.tsv", "test": "TEST.parquet"}.items():
        if path.endswith("parquet"):
            pl.DataFrame(SPLIT_RING[split], orient="row").write_parquet(tmp_path / path)
        else:
            write(tmp_path / path, lines(SPLIT_RING[split], "," if "csv" in path else "\t"))
    write(tmp_path / "test_labelled.txt.gz", "a\tb\tc\t1\n")
    write(tmp_path / "README.md", "about")
    graph = load_graph(tmp_path)
    assert {split: facts(graph, split) for split in SPLIT_RING} == {s: set(r) for s, r in SPLIT_RING.items()}
    assert graph.notes == ()


def test_duplicates_are_dropped_with_a_note(tmp_path: Path) -> None:
    graph = load_graph(write(tmp_path / "x.tsv", lines(RING + RING[:3])))
    assert len(graph.train) + len(graph.valid) + len(graph.test) == len(RING)
    assert any("3 duplicate triples dropped" in note for note in graph.notes)


def test_rdf_without_pyoxigraph_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyoxigraph", None)
    from eras.errors import UsageError

    with pytest.raises(UsageError, match=r"pip install 'eras-kge\[rdf\]'"):
        list(read_file(write(tmp_path / "x.nt", ""), None, Findings()))
