"""classify, calibrate, explain and discover through the installed command line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from command import QUICK, eras, eras_json


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judging") / "umls"
    eras("train", "umls", *QUICK, "--out", folder)
    return folder


def labelled(path: Path, rows: list[tuple[str, str, str, str]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


TRUE = [("virus", "causes", "disease_or_syndrome", "1"), ("virus", "isa", "organism", "1")]
FALSE = [("virus", "causes", "geographic_area", "0"), ("organism", "isa", "virus", "0")]


def test_classify(run: Path, tmp_path: Path) -> None:
    made = eras_json("classify", run)
    assert made["triples"] == 2 * 661
    assert made["accuracy"] > 0.7
    shown = eras("classify", run).stderr
    assert "all relations" in shown
    assert f"{made['accuracy']:.4f}" in shown
    assert max(map(len, shown.splitlines())) <= 120

    file = labelled(tmp_path / "own.tsv", [*TRUE, *FALSE])
    own = eras_json("classify", run, "--valid", file, "--test", file)
    assert own["accuracy"] == 1.0
    assert own["about"]["pooled_relations"] == []


def test_labelled_files_that_cannot_be_used(run: Path, tmp_path: Path) -> None:
    for verb, rows, message in (
        ("classify", [*TRUE, ("virus", "isa", "organism", "2")], "line 3: label '2'"),
        ("calibrate", TRUE, "labelled true"),
        ("classify", [*TRUE, ("viruss", "isa", "organism", "0")], "entity 'viruss' (line 3); --skip-unknown"),
    ):
        file = labelled(tmp_path / "bad.tsv", rows)
        assert message in eras(verb, run, "--valid", file, code=2).stderr.replace("\n", " ")
    assert "cannot be read" in eras("classify", run, "--valid", tmp_path / "none.tsv", code=2).stderr
    file = labelled(tmp_path / "more.tsv", [*TRUE, *FALSE, ("viruss", "isa", "organism", "0")])
    left_out = eras("classify", run, "--test", file, "--skip-unknown").stderr
    assert "1 with unknown names left out" in left_out


def test_a_bad_test_file_leaves_the_calibration_alone(run: Path, tmp_path: Path) -> None:
    before = (run / "calibration.json").read_bytes()
    eras("calibrate", run, "--seed", "5", "--test", labelled(tmp_path / "bad.tsv", TRUE), code=2)
    assert (run / "calibration.json").read_bytes() == before


def test_calibrate_and_predict(run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "reliability.svg"
    measured = eras_json("calibrate", run, "--method", "isotonic", "--figure", picture)
    assert measured["after"]["ece"] < measured["before"]["ece"]
    assert "Reliability of complex on umls" in picture.read_text()
    shown = eras("predict", run, "--head", "virus", "--relation", "causes", "-k", "2").stderr
    assert "probability" in shown
    assert "the first of these is right with probability" in shown
    (run / "calibration.json").rename(tmp_path / "away")
    assert "eras calibrate" in eras("predict", run, "--head", "virus", "--relation", "causes").stderr
    (tmp_path / "away").rename(run / "calibration.json")
    assert "must end in .svg or .png" in eras("calibrate", run, "--figure", tmp_path / "a.pdf", code=2).stderr


def test_explain(run: Path, tmp_path: Path) -> None:
    claim = ("virus", "causes", "disease_or_syndrome")
    told = eras_json("explain", run, *claim, "--figure", tmp_path / "why.png")
    assert sum(term["value"] for term in told["terms"]) == pytest.approx(told["score"], abs=1e-5)
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    shown = eras("explain", run, *claim).stderr
    for text in ("a known fact (train)", "add up to the score", "Known facts most like it", f"{told['score']:.4f}"):
        assert text in shown
    assert "general" in eras("explain", run, "--relation", "process_of").stderr
    assert "give a claim" in eras("explain", run, "virus", code=2).stderr
    assert "not both" in eras("explain", run, *claim, "--relation", "isa", code=2).stderr
    assert "Did you mean 'virus'" in eras("explain", run, "viruss", *claim[1:], code=2).stderr


def test_discover(run: Path, tmp_path: Path) -> None:
    rows = eras_json("discover", run, "--top", "30")
    assert len(rows) == 30
    assert [row["probability"] for row in rows] == sorted((row["probability"] for row in rows), reverse=True)
    for name in ("new.tsv", "new.parquet"):
        eras("discover", run, "--top", "30", "--out", tmp_path / name)
    table = pl.read_csv(tmp_path / "new.tsv", separator="\t")
    assert table["tail"].to_list() == [row["tail"] for row in rows]
    assert pl.read_parquet(tmp_path / "new.parquet")["head"].to_list() == [row["head"] for row in rows]
    assert "exists already" in eras("discover", run, "--out", tmp_path / "new.tsv", code=2).stderr
    assert "must end in .tsv or .parquet" in eras("discover", run, "--out", tmp_path / "new.txt", code=2).stderr
    assert "Did you mean 'causes'" in eras("discover", run, "--relation", "cause", code=2).stderr
