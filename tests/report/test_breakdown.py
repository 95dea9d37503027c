from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from eras.report.breakdown import MOST, draw_breakdown

NAMES = ("complex", "_old", "costs $5 or $6")


def rows(column: str, *classes: str) -> list[dict[str, Any]]:
    runs = [
        {"run": name, "mrr": 0.1 * i, "mrr_low": 0.1 * i - 0.05, "mrr_high": 0.1 * i} for i, name in enumerate(NAMES)
    ]
    return [{column: name, "triples": 1234, "runs": runs} for name in classes]


def test_every_run_and_class_is_named_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    relations = [f"relation {i}" for i in range(MOST + 5)]
    long = "/a/very/long/name/" + "of/a/relation/" * 8
    columns = {"side": rows("side", "all", "head", "tail"), "relation": rows("relation", "all", long, *relations)}
    draw_breakdown("runs on umls", columns, path)
    written = [text.strip() for text in re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))]
    assert {*NAMES, "runs on umls", "By side", "head  (1,234)", f"By relation (the {MOST} largest of 36)"} <= {*written}
    assert f"relation {MOST - 2}  (1,234)" in written
    assert f"relation {MOST - 1}  (1,234)" not in written
    assert any(text.startswith("/a/very/long") and "…" in text and len(text) < 60 for text in written)
    assert written.count("complex") == 1, "one legend for all panels"
