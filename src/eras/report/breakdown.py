"""The figure of a breakdown: MRR of every run in every class, with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eras.report.figure import STYLE, legend_above, marks, picture_kind, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = list[dict[str, Any]]

MOST = 30
"""Classes that a panel shows, the largest."""

_WIDTH, _MARGIN, _STEP = 9.0, 0.75, 0.15  # inches: a figure's width, a panel's title and axis, a run in a class
_LONG = 44  # characters of a class's name


def draw_breakdown(title: str, columns: Mapping[str, Rows], path: Path) -> None:
    """Write the rows of `contrast` for each column to `path`, an .svg or a .png: a panel for each column."""
    picture_kind(path)

    import matplotlib
    from matplotlib.figure import Figure

    shown = {column: rows[: MOST + 1] for column, rows in columns.items()}  # the first row is that of all ranks
    runs = max(len(row["runs"]) for rows in shown.values() for row in rows)
    heights = [_MARGIN + len(rows) * _STEP * (runs + 1) for rows in shown.values()]
    with matplotlib.rc_context(STYLE | {"axes.grid.axis": "x"}):
        height = 0.4 + sum(heights)
        figure = Figure(figsize=(_WIDTH, height), layout="tight")
        panels = figure.subplots(len(shown), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (column, rows) in zip(panels, shown.items(), strict=True):
            _draw(axes, column, rows)
            left_out = len(columns[column]) - len(rows)
            axes.set_title(f"By {column}" + (f" (the {MOST} largest of {MOST + left_out:,})" if left_out else ""))
            axes.tick_params(labelbottom=True)
        panels[-1].set_xlabel("MRR, with 95 % intervals (triples in brackets)")
        if runs > 1:
            legend_above(panels[0])
        figure.suptitle(title, fontsize=12, x=0.01, y=1 - 0.1 / height, ha="left")
        save(figure, path)


def _draw(axes: Axes, column: str, rows: Rows) -> None:
    """Classes from the top down at whole numbers, and within a class the runs, in their order."""
    names = [run["run"] for run in rows[0]["runs"]]
    for number, (name, (colour, marker)) in enumerate(zip(names, marks(), strict=False)):
        places = [y + (number + 1) / (len(names) + 1) - 0.5 for y in range(len(rows))]
        runs = [row["runs"][number] for row in rows]
        values = [run["mrr"] for run in runs]
        label = f" {name}"  # a name that begins with _ would be left out of the legend
        axes.hlines(places, [run["mrr_low"] for run in runs], [run["mrr_high"] for run in runs], color=colour)
        axes.plot(values, places, marker, color=colour, label=label, markersize=6.5, mec="white", mew=0.6)
    axes.set_yticks(range(len(rows)), [f"{_short(str(row[column]))}  ({row['triples']:,})" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    for y in range(1, len(rows)):
        axes.axhline(y - 0.5, color="#E6E6E6", linewidth=0.8, zorder=0)


def _short(name: str) -> str:
    half = _LONG // 2
    return name if len(name) <= _LONG else f"{name[: half - 1]}…{name[-half:]}"
