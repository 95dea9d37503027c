"""The reliability diagram: what was said to be probable, against what was true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eras.report.figure import GREY, STYLE, marks, save

NAMES = {
    "before": "sigmoid of the score",
    "after": "calibrated",
    "first": "first of a list",
}


def draw_reliability(title: str, measured: dict[str, Any], path: Path) -> None:
    """Above, a line for each kind of probability, the diagonal is perfect; below, how many were judged in each bin."""
    import matplotlib
    from matplotlib.figure import Figure

    kinds = [kind for kind in NAMES if kind in measured]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 6.6), layout="tight")
        above, below = figure.subplots(2, 1, height_ratios=[3, 1], sharex=True)
        above.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
        for kind, (colour, marker) in zip(kinds, marks(), strict=False):
            bins = measured[kind]["bins"]
            label = f"{NAMES[kind]}: ECE {measured[kind]['ece']:.3f}"
            style: Any = {"color": colour, "marker": marker, "markersize": 5}
            above.plot([b["probability"] for b in bins], [b["true"] for b in bins], label=label, **style)
            total = sum(b["triples"] for b in bins)
            shares = [b["triples"] / total for b in bins]
            below.plot([(b["low"] + b["high"]) / 2 for b in bins], shares, **style)
        above.set(ylabel="share that is true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        above.legend(loc="upper left")
        below.set(xlabel="probability", ylabel="share of all", ylim=(0, None))
        figure.suptitle(f"Reliability of {title}", fontsize=12, x=0.01, ha="left")
        save(figure, path)
