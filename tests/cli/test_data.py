from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from eras.cli.data import app
from eras.errors import DataError, UnknownNameError
from eras.graph.catalogue import catalogue


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("ERAS_DATA", raising=False)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{i},e{i},e{(i + 1) % 9},[next]" for i in range(9)] + [f"{i},e{(i + 1) % 9},e{i},before" for i in range(9)]
    path = tmp_path / "facts.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_list_names_every_graph_and_where_it_is() -> None:
    listed = json.loads(run("list", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(catalogue())
    assert {entry["name"] for entry in listed if entry["read_from"] == "packaged"} == {"umls"}
    result = run("list")
    assert result.stdout == ""
    assert "yago3-10" in result.stderr
    assert "1,079,040" in result.stderr
    assert max(map(len, result.stderr.splitlines())) <= 80


def test_show_tells_licence_citation_and_addresses() -> None:
    facts = json.loads(run("show", "FB15k-237", "--json").stdout)
    assert facts["name"] == "fb15k237"
    assert facts["files"][0]["address"].startswith("https://raw.githubusercontent.com/")
    text = run("show", "codex-s").stderr
    assert "Safavi and Koutra 2020" in text
    assert "MIT" in text
    with pytest.raises(UnknownNameError, match="'codex-s'"):
        run("show", "codex-x")


def test_fetch_finds_what_is_at_hand() -> None:
    folder = json.loads(run("fetch", "umls", "--json").stdout)["umls"]
    assert (Path(folder) / "train.txt").exists()
    with pytest.raises(UnknownNameError, match="'wn18'"):
        run("fetch", "umls", "wn1")


def test_profile_of_a_table(table: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("before\tcomes before\n", encoding="utf-8")
    options = ("profile", str(table), "--columns", "2,4,3", "--labels", str(labels))
    facts = json.loads(run(*options, "--json").stdout)
    assert (facts["entities"], facts["relations"], sum(facts["splits"].values())) == (9, 2, 18)
    assert {row["relation"]: row["inverse"] for row in facts["patterns"]} == {
        "[next]": "before",
        "before": "[next]",
    }
    result = run(*options, "--top", "1")
    assert result.stdout == ""
    for expected in ("held out of 18", "1 labels read", "1 smaller relations", "anti-symmetric"):
        assert expected in result.stderr
    shown = run(*options).stderr
    assert "[next]" in shown
    assert "comes before" in shown


def test_profile_of_wrong_columns(table: Path) -> None:
    with pytest.raises(DataError, match="'1,2': expected three"):
        run("profile", str(table), "--columns", "1,2")
    with pytest.raises(DataError, match=r"line 1: 4 fields separated by commas"):
        run("profile", str(table))
