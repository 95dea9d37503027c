"""index and predict --approximate through the installed command line."""

from __future__ import annotations

import shutil
from pathlib import Path

from command import QUICK, eras, eras_json


def test_index_and_predict(graph: Path, tmp_path: Path) -> None:
    run, bare = tmp_path / "run", tmp_path / "bare"
    eras("train", graph, *QUICK, "--storage", "bfloat16", "--out", run)
    shutil.copytree(run, bare)
    question = ("--head", "e1", "--relation", "symmetric_1", "-k", "4")

    shown = eras("index", run, "--recall", "0.9").stderr
    for text in ("60 entities in 15 lists", "recall@10", "approximate", "you need no index here", "index.faiss"):
        assert text in " ".join(shown.split())
    rows = eras_json("predict", run, *question, "--approximate")
    assert len(rows) == 4
    assert all("first_is_right" not in row for row in rows)

    missing = eras("predict", bare, *question, "--approximate", code=2).stderr
    assert f"eras index {bare}" in missing.replace("\n", "")
    assert "at most 1" in eras("index", bare, "--recall", "2", code=2).stderr
    assert not (bare / "index.json").exists()
