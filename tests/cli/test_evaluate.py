"""`eras evaluate` for several runs, through the installed command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import QUICK, eras, eras_json


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("evaluate")
    functions = ("complex", "distmult")
    for function in functions:
        eras("train", "umls", "--function", function, *QUICK, "--out", folder / function)
    return [folder / function for function in functions]


def test_runs_side_by_side(runs: list[Path]) -> None:
    columns = ("pattern", "relation")
    result = eras_json("evaluate", *runs, "--by", "pattern", "--by", "relation")
    assert result["split"] == "test"
    assert list(result["runs"]) == ["complex", "distmult"]
    assert {name: run["mrr"] for name, run in result["runs"].items()} == pytest.approx(
        {run["run"]: run["mrr"] for run in result["contrast"]["pattern"][0]["runs"]}
    )
    for column in columns:
        classes = [row[column] for row in result["contrast"][column]]
        assert classes == ["all", *(row[column] for row in result["runs"]["complex"]["by"][column])]
    shown = eras("evaluate", *runs, "--by", "pattern", "--by", "relation")
    assert shown.stdout == ""
    lines = shown.stderr.splitlines()
    assert max(map(len, lines)) <= 80
    for column in columns:
        for row in result["contrast"][column]:
            start = lines.index(f"{row[column]}, {row['triples']:,} triple{'s' if row['triples'] > 1 else ''}")
            for line, run in zip(lines[start + 1 :], row["runs"], strict=False):
                assert line.split()[0] == run["run"]
                assert f"{run['mrr']:.4f} ±" in line
                assert ("best" in line) == (run["p"] is None)


def test_one_run_keeps_its_json_and_shows_intervals(runs: list[Path]) -> None:
    from eras.store import load_model

    result = eras_json("evaluate", runs[0], "--split", "valid")
    contrasts = result.pop("contrast")
    assert result == load_model(runs[0]).evaluate("valid").to_json()
    assert list(contrasts) == ["side", "pattern"]
    lines = eras("evaluate", runs[0], "--split", "valid").stderr.splitlines()
    for row in contrasts["pattern"][1:]:
        figures = next(line for line in lines if line.startswith(row["pattern"])).split()
        run = row["runs"][0]
        half = (run["mrr_high"] - run["mrr_low"]) / 2
        assert figures[1:4] == [f"{row['triples']:,}", f"{run['mrr']:.4f}", f"±{half:.4f}"]


def test_rules_beside_a_model_and_a_figure_of_both(graph: Path, tmp_path: Path) -> None:
    eras("train", graph, *QUICK, "--out", tmp_path / "a" / "run")
    eras("rules", "learn", graph, "--rounds", "2", "--out", tmp_path / "b" / "run")
    figure = tmp_path / "figure.svg"
    shown = eras("evaluate", "a/run", "b/run", "--by", "side", "--figure", figure, cwd=tmp_path).stderr
    assert all(name in shown for name in ("a/run", "b/run", "wrote")), "the same base name: paths tell them apart"
    assert all(f"<!--  {name} -->" in figure.read_text(encoding="utf-8") for name in ("a/run", "b/run"))


def test_wrong_requests_are_refused_before_anything_is_ranked(runs: list[Path], graph: Path, tmp_path: Path) -> None:
    # To rank the test split of this run would be refused in other words: it has none.
    eras("train", graph / "train.tsv", "--holdout", "0.1,0", *QUICK, "--out", tmp_path / "run")
    for arguments, said in [
        ((tmp_path / "run", runs[0]), "run and complex are runs of different graphs (train, umls)"),
        ((tmp_path / "run", tmp_path / "run"), "given twice"),
        ((tmp_path / "run", "--figure", tmp_path / "figure.pdf"), ".svg or .png"),
        ((tmp_path / "run", "--figure", tmp_path / "nowhere" / "figure.svg"), "there is no folder"),
        ((tmp_path / "run",), "no test triples"),
    ]:
        assert said in " ".join(eras("evaluate", *arguments, code=2).stderr.split())
    assert not list(tmp_path.glob("figure*"))
