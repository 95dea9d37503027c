"""The search-efficiency figure: what each method holds for the best, against time."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from eras.files import replacing
from eras.report.curves import STYLE, legend_above, unit_of_time

COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#1A1A1A", "#8A8A8A"
MARKERS = "o", "s", "^", "D", "v", "P", "X", "*"


def draw_comparison(title: str, curves: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Write the figure to `path`, an .svg or a .png: one line of steps for each method, with a marker at its end."""
    import matplotlib
    from matplotlib.figure import Figure

    unit, name = unit_of_time(max(seconds for curve in curves.values() for seconds, _ in curve))
    styles: Any = itertools.cycle(zip(COLOURS, MARKERS, strict=True))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.6), layout="tight")
        axes = figure.add_subplot()
        for (method, curve), (colour, marker) in zip(curves.items(), styles, strict=False):
            x, y = [seconds / unit for seconds, _ in curve], [mrr for _, mrr in curve]
            axes.step(x, y, where="post", color=colour, marker=marker, markersize=3.5, label=method)
            axes.plot(x[-1:], y[-1:], marker, color=colour, markersize=8, markeredgecolor="white")
        axes.set_xlim(left=0)
        axes.set(xlabel=f"time ({name})", ylabel="selection MRR after a short training")
        figure.suptitle(f"Searches on {title}: what each holds for the best", fontsize=12, x=0.01, ha="left")
        legend_above(axes)
        with replacing(path) as temporary:
            kind = path.suffix.removeprefix(".")
            figure.savefig(temporary, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
