"""The search-efficiency figure: what each method holds for the best, against time."""

from __future__ import annotations

from pathlib import Path

from eras.report.curves import unit_of_time
from eras.report.figure import STYLE, legend_above, marks, save


def draw_comparison(title: str, curves: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Write the figure to `path`, an .svg or a .png: one line of steps for each method, with a marker at its end."""
    import matplotlib
    from matplotlib.figure import Figure

    unit, name = unit_of_time(max(seconds for curve in curves.values() for seconds, _ in curve))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.6), layout="tight")
        axes = figure.add_subplot()
        for (method, curve), (colour, marker) in zip(curves.items(), marks(), strict=False):
            x, y = [seconds / unit for seconds, _ in curve], [mrr for _, mrr in curve]
            axes.step(x, y, where="post", color=colour, marker=marker, markersize=3.5, label=method)
            axes.plot(x[-1:], y[-1:], marker, color=colour, markersize=8, markeredgecolor="white")
        axes.set_xlim(left=0)
        axes.set(xlabel=f"time ({name})", ylabel="selection MRR after a short training")
        figure.suptitle(f"Searches on {title}: what each holds for the best", fontsize=12, x=0.01, ha="left")
        legend_above(axes)
        save(figure, path)
