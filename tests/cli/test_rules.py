"""`eras rules` from end to end, as a user starts it."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from command import QUICK, eras, eras_json, start


@pytest.fixture(scope="module")
def learned(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules") / "run"
    eras("rules", "learn", graph, "--rounds", "3", "--out", folder)
    return folder


def test_learn_show_predict_evaluate(learned: Path, graph: Path) -> None:
    metrics = json.loads((learned / "metrics.json").read_text())
    assert metrics["test"]["mrr"] > 0.2
    assert eras_json("evaluate", learned)["mrr"] == metrics["test"]["mrr"]
    rows = eras_json("rules", "show", learned, "--relation", "symmetric_1", "-k", "5")
    assert rows[0]["confidence"] == max(row["confidence"] for row in rows)
    assert all(row["rule"].startswith("symmetric_1(") for row in rows)
    assert rows[0]["rule"] in (learned / "rules.txt").read_text()
    assert "symmetric_1(" in eras("rules", "show", learned, "--relation", "symmetric_1").stderr
    assert "# Rules on planted" in (learned / "README.md").read_text()

    predictions = eras_json("rules", "predict", learned, "--head", "e0", "--relation", "symmetric_1", "-k", "3")
    assert [row["score"] for row in predictions] == sorted((row["score"] for row in predictions), reverse=True)
    best = predictions[0]["because"][0]
    assert best["facts"]
    assert predictions[0]["score"] == pytest.approx(best["confidence"], rel=1e-5)
    shown = eras("rules", "predict", learned, "--head", "e0", "--relation", "symmetric_1", "-k", "3").stderr
    assert "because" in shown
    assert best["rule"] in shown
    noisy = eras_json(
        "rules", "predict", learned, "--head", "e0", "--relation", "symmetric_1", "--aggregate", "noisy-or"
    )
    assert noisy[0]["score"] >= best["confidence"]


def test_reasons_for_a_models_predictions(learned: Path, graph: Path, tmp_path: Path) -> None:
    eras("train", graph, *QUICK, "--out", tmp_path / "model")
    asked = ("--head", "e0", "--relation", "symmetric_1", "-k", "2")
    rows = eras_json("predict", tmp_path / "model", *asked, "--because", learned)
    assert all("because" in row for row in rows)
    assert "another graph" in _umls_rules_refused(tmp_path, learned)


def _umls_rules_refused(tmp_path: Path, learned: Path) -> str:
    eras("train", "umls", *QUICK, "--out", tmp_path / "umls")
    asked = ("--head", "virus", "--relation", "causes", "--because", learned)
    return eras("predict", tmp_path / "umls", *asked, code=2).stderr


def test_a_folder_is_gone_on_with_or_refused(learned: Path, graph: Path) -> None:
    before = (learned / "metrics.json").read_bytes()
    assert "after 3 rounds" in eras("rules", "learn", graph, "--rounds", "3", "--out", learned).stderr
    assert "rounds: 3, now 4" in eras("rules", "learn", graph, "--rounds", "4", "--out", learned, code=2).stderr
    assert "has ended already" in eras("resume", learned).stderr
    assert (learned / "metrics.json").read_bytes() == before


def test_a_killed_learner_goes_on_to_the_same_rules(learned: Path, graph: Path, tmp_path: Path) -> None:
    process = start("rules", "learn", graph, "--rounds", "3", "--out", tmp_path / "run")
    while not (tmp_path / "run" / "graph.json").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    eras("resume", tmp_path / "run")
    assert (tmp_path / "run" / "rules.parquet").read_bytes() == (learned / "rules.parquet").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rules", "learn", "umls", "--length", "9"), "length = 9"),
        (("rules", "learn", "umls", "--time", "soon"), "expected a duration"),
        (("rules", "learn", "no-such-file.tsv"), "no-such-file.tsv"),
        (("rules", "show", "nowhere"), "there is no model or run folder nowhere"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    assert words in eras(*arguments, code=2, cwd=tmp_path).stderr
    assert not list(tmp_path.iterdir())


def test_questions_that_rules_cannot_answer(learned: Path) -> None:
    assert "give the relation" in eras("rules", "predict", learned, "--head", "e0", "--tail", "e1", code=2).stderr
    assert "unknown relation" in eras("rules", "show", learned, "--relation", "nothing_like_it", code=2).stderr
    assert (
        "unknown entity" in eras("rules", "predict", learned, "--head", "x", "--relation", "symmetric_1", code=2).stderr
    )
