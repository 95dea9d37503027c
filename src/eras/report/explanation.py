"""The picture of a claim: which block terms carry its score."""

from __future__ import annotations

from pathlib import Path

from eras.errors import UsageError
from eras.report.figure import BLUE, GREY, INK, ORANGE, STYLE, save
from eras.store.explanation import Explanation

_MANY = 12
"""Terms that have a bar of their own."""


def draw_explanation(claim: Explanation, path: Path) -> None:
    """Left, the terms where they stand in the structure; right, the largest of them, and their sum."""
    if claim.structure is None:
        raise UsageError("only block structures have terms to draw")

    import matplotlib
    import numpy as np
    from matplotlib.figure import Figure

    M = claim.structure.blocks
    grid = np.full((M, M), np.nan)
    for term in claim.terms:
        grid[term.head, term.tail] = term.value
    largest = max((abs(term.value) for term in claim.terms), default=0) or 1.0
    ordered = sorted(claim.terms, key=lambda term: -abs(term.value))
    bars = [(str(term), term.value) for term in ordered]
    if len(bars) > _MANY:
        rest = bars[_MANY - 1 :]
        bars = [*bars[: _MANY - 1], (f"{len(rest)} more", sum(value for _, value in rest))]
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(9.0, max(3.4, 1.5 + 0.32 * len(bars))), layout="tight")
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.3])
        colours = matplotlib.colors.LinearSegmentedColormap.from_list("signed", [ORANGE, "#FFFFFF", BLUE])
        colours.set_bad("#F1F3F4")
        left.imshow(np.ma.masked_invalid(grid), cmap=colours, vmin=-largest, vmax=largest)
        for term in claim.terms:
            strong = abs(term.value) > 0.6 * largest
            left.text(
                term.tail,
                term.head,
                f"{'' if term.sign > 0 else '−'}r{term.relation + 1}\n{term.value:+.2f}",
                ha="center",
                va="center",
                fontsize=9,
                color="#FFFFFF" if strong else INK,
            )
        left.set_xticks(range(M), [f"t{i + 1}" for i in range(M)])
        left.set_yticks(range(M), [f"h{i + 1}" for i in range(M)])
        left.tick_params(length=0)
        left.spines[:].set_visible(False)
        left.set_title(f"Structure of group {claim.group}")

        names, values = [name for name, _ in bars], [value for _, value in bars]
        places = range(len(bars))
        right.barh(places, values, color=[BLUE if value >= 0 else ORANGE for value in values])
        right.barh(len(bars), claim.score, color=GREY)
        right.set_yticks([*places, len(bars)], [*names, "sum = score"])
        right.invert_yaxis()
        right.axvline(0, color=INK, linewidth=0.8)
        right.spines["left"].set_visible(False)
        right.tick_params(axis="y", length=0)
        right.set_title("Terms of the score")
        sure = "" if claim.probability is None else f", probability {claim.probability:.3f}"
        title = f"{claim.relation}({claim.head}, {claim.tail}): score {claim.score:.3f}{sure}"
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        save(figure, path)
