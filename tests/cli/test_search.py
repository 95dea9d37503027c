"""`eras search`, `eras fit` and `eras resume` through the installed command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import eras, start
from eras.files import Journal

SMALL = ("--dim", "16", "--trial-epochs", "1", "--trials", "14", "--finalists", "2", "--workers", "1")


def test_a_search_writes_a_function_that_trains_and_a_second_call_just_reads_it(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "search"
    first = eras("search", graph, *SMALL, "--groups", "2", "--out", out, "--json")
    summary = json.loads(first.stdout)
    assert {"function.json", "function.svg", "curves.svg", "search.jsonl", "summary.json"} <= {
        path.name for path in out.iterdir()
    }
    assert summary["function"] == json.loads((out / "summary.json").read_text())["function"]
    again = eras("search", graph, *SMALL, "--groups", "2", "--out", out, "--json")
    assert json.loads(again.stdout) == summary
    trained = eras(
        "train", graph, "-f", out / "function.json", "--dim", "16", "--epochs", "1", "-o", tmp_path / "run", "--json"
    )
    assert json.loads(trained.stdout)["test"]["mrr"] > 0


@pytest.mark.parametrize("method", ["evolution", "eras"])
def test_a_search_killed_at_any_moment_goes_on_and_ends_alike(graph: Path, tmp_path: Path, method: str) -> None:
    budget = SMALL if method == "evolution" else ("--epochs", "3", "--policy-steps", "3", "--finalists", "0")
    arguments = ("search", graph, "--method", method, "--groups", "2", *budget, "--dim", "16", "--json")
    whole = json.loads(eras(*arguments, "--out", tmp_path / "whole").stdout)
    journal = tmp_path / "cut" / "search.jsonl"
    process = start(*arguments, "--out", tmp_path / "cut")
    while process.poll() is None and not (journal.exists() and journal.read_text().count("\n") > 5):
        time.sleep(0.02)
    process.kill()
    process.wait()
    again = json.loads(eras(*arguments, "--out", tmp_path / "cut").stdout)
    for key in ("reward", "function", "tried"):
        assert again[key] == whole[key]
    trials = [(e["function"], e["epochs"], e["replica"]) for e in Journal(journal).events("trial")]
    assert len(trials) == len({json.dumps(t, sort_keys=True) for t in trials}), "no finished trial is trained again"


def test_a_search_is_not_mixed_with_another(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "search"
    eras("search", graph, *SMALL, "--groups", "1", "--out", out)
    other = eras("search", graph, *SMALL, "--groups", "2", "--out", out, code=2)
    assert "with other settings (groups: 1, now 2)" in " ".join(other.stderr.split())
    elsewhere = eras("search", "umls", *SMALL, "--groups", "1", "--out", out, code=2)
    assert "of another graph (planted)" in " ".join(elsewhere.stderr.split())
    assert "holds a search" in eras("predict", out, "--head", "e1", "--relation", "general_1", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--groups", "99"), "groups 99: the search works with 1 to 8 groups"),
        (("--method", "ears"), "unknown method 'ears'. Did you mean 'eras'"),
        (("--time", "soon"), "--time 'soon': expected a duration such as 90s, 5m or 1h30m"),
        (("--time", "1s"), "1 s are too short for a search on this graph"),
        (("--method", "eras-n1", "--groups", "3"), "method eras-n1 means groups = 1, not 3"),
        (("--method", "eras", "--sampling", "odd"), "setting sampling = 'odd'"),
        (("--sampling", "fair"), "sampling is a setting of one-shot searches"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_written(
    graph: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "search"
    assert message in " ".join(eras("search", graph, *arguments, "--out", out, code=2).stderr.split())
    assert not out.exists()


def test_fit_ends_with_a_model_no_worse_on_validation_than_any_that_was_trained(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "fit"
    done = eras("fit", graph, "--time", "20s", "--dim", "16", "--epochs", "3", "--out", out, "--json")
    story = json.loads(done.stdout)["fit"]
    mrrs = {name: result["selection_mrr"] for name, result in story["candidates"].items()}
    assert {"distmult", "complex", "simple", "analogy"} <= set(mrrs)
    assert mrrs[story["winner"]] == max(mrrs.values())
    assert story["verdict"] in " ".join(done.stderr.split())
    assert eras("predict", out, "--head", "e1", "--relation", "general_1", "-k", "3", "--json").stdout
    again = eras("fit", graph, "--time", "20s", "--dim", "16", "--epochs", "3", "--out", out, "--json")
    assert json.loads(again.stdout) == json.loads(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "2s"), "2 s are too short for this graph"),
        (("--groups", "99"), "groups 99: the search works with 1 to 8 groups"),
        (("--dim", "50"), "dim 50 cannot be cut into 4 equal blocks"),
        (("--blocks", "9"), "blocks 9: the search works with 2 to 6 blocks"),
    ],
)
def test_what_cannot_be_fitted_is_refused_before_anything_is_written(
    graph: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "fit"
    assert message in " ".join(eras("fit", graph, *arguments, "--out", out, code=2).stderr.split())
    assert not out.exists()


def test_ctrl_c_at_the_terminal_ends_a_search_with_a_word_on_how_to_go_on(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "search"
    arguments = ("search", graph, "--groups", "2", "--trials", "60", "--workers", "2", "--out", out)
    process = start(*arguments, stderr=subprocess.PIPE, start_new_session=True)
    while process.poll() is None and not (out / "search.jsonl").exists():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = " ".join(process.communicate()[1].decode().split())
    assert process.returncode == 130, said
    assert "all are saved. Go on with: eras resume" in said
    assert "Traceback" not in said
    assert "Warning" not in said


def test_two_processes_do_not_work_in_one_folder(graph: Path, tmp_path: Path) -> None:
    arguments = ("search", graph, "--trials", "60", "--workers", "1", "--out", tmp_path / "search")
    process = start(*arguments)
    while process.poll() is None and not (tmp_path / "search" / "search.jsonl").exists():
        time.sleep(0.05)
    assert "another eras is at work in" in " ".join(eras(*arguments, code=2).stderr.split())
    process.kill()
    process.wait()
