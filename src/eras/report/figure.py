"""What all figures share: their look, and how they are written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eras.errors import OutputError
from eras.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, safe for colour-blind readers; whatever differs in colour differs in shape as well.
BLUE, ORANGE, GREEN, SKY, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#56B4E9", "#8A8A8A", "#1A1A1A"
COLOURS = BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", SKY, INK, GREY
MARKERS = "o", "s", "^", "D", "v", "P", "X", "*"

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "grid.color": "#E6E6E6",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "svg.hashsalt": "eras",  # the same figures give the same bytes
    "text.color": INK,
    "text.parse_math": False,  # names are shown as they are, $ and all
    "xtick.color": "#4A4A4A",
    "ytick.color": "#4A4A4A",
}


def marks() -> Iterator[tuple[str, str]]:
    """A colour and a marker for each thing to tell apart; no pair comes twice among the first 64."""
    for turn in itertools.count():
        for number, colour in enumerate(COLOURS):
            yield colour, MARKERS[(number + turn) % len(MARKERS)]


def picture_kind(path: Path) -> str:
    """`svg` or `png`, by the name of a picture; refuses what cannot be written, so it may be asked before long work."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise OutputError(f"{path} cannot be drawn: the name of a picture must end in .svg or .png")
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}: make it first, or choose another name for the picture")
    return kind


def save(figure: Figure, path: Path) -> None:
    """Write a figure to `path`, an .svg or a .png, with no date in it."""
    kind = picture_kind(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)


def legend_above(axes: Axes) -> None:
    """In one line above the panel, to the right of its title: no curve runs there."""
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2, columnspacing=1.4)
