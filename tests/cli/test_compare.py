"""`eras compare` through the installed command line."""

from __future__ import annotations

import json
import time
from pathlib import Path

from command import eras, start
from eras.files import Journal


def test_a_comparison_killed_in_its_second_search_goes_on_there(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "compare"
    arguments = ("compare", graph, "--methods", "random,eras", "--time", "12s", "--dim", "16", "--out", out, "--json")
    process = start(*arguments)
    while process.poll() is None and not (out / "eras" / "search.jsonl").exists():
        time.sleep(0.05)
    process.kill()
    process.wait()
    first = (out / "random" / "search.jsonl").read_bytes()
    result = json.loads(eras(*arguments).stdout)
    assert (out / "random" / "search.jsonl").read_bytes() == first, "what has ended is not done again"
    assert set(result["methods"]) == set(result["curves"]) == {"random", "eras"}
    for method, curve in result["curves"].items():
        row, searched = result["methods"][method], json.loads((out / method / "summary.json").read_text())
        assert row["function"] == searched["function"]
        assert row["full_mrr"] > 0
        assert [seconds for seconds, _ in curve] == sorted(seconds for seconds, _ in curve)
        assert curve[-1][1] == row["short_mrr"]
    manifests = [json.loads((out / method / "manifest.json").read_text()) for method in ("random", "eras")]
    for key in ("training", "trial_epochs", "most_epochs"):
        assert manifests[0]["search"][key] == manifests[1]["search"][key], "all methods train in the same way"
    assert "comparison.svg" in {path.name for path in out.iterdir()}
    judged = Journal(out / "judged.jsonl").events("trial")
    assert any(e["epochs"] == result["settings"]["full_epochs"] for e in judged)
    assert json.loads(eras("resume", out, "--json").stdout) == result


def test_wrong_methods_are_refused_before_anything_is_written(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "compare"
    for methods, said in (("autosv", "autosf"), ("random,random", "twice"), (",", "at least one")):
        assert said in eras("compare", graph, "--methods", methods, "--out", out, code=2).stderr
    assert "too short" in eras("compare", graph, "--time", "1s", "--out", out, code=2).stderr
    assert not out.exists()
