"""Scoring functions as standalone SVG: the block picture of the paper's case study.

Rows are head blocks, columns tail blocks; each relation block has a colour. A positive cell is filled, a
negative one is hatched on a light ground, so that the sign survives greyscale print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from eras.scoring.function import ScoringFunction
    from eras.scoring.structure import Structure

# Okabe and Ito's palette (safe for colour-blind readers), grey in place of black, strongest contrasts first;
# then the ink that reads best on each.
_COLOURS = (
    ("#0072B2", "#FFFFFF"),
    ("#E69F00", "#1A1A1A"),
    ("#009E73", "#FFFFFF"),
    ("#CC79A7", "#1A1A1A"),
    ("#56B4E9", "#1A1A1A"),
    ("#D55E00", "#FFFFFF"),
    ("#F0E442", "#1A1A1A"),
    ("#7F7F7F", "#FFFFFF"),
)
_INK, _FAINT, _EMPTY = "#1A1A1A", "#5F6368", "#F1F3F4"

_CELL, _GAP = 44, 5
_PITCH = _CELL + _GAP
_MARGIN, _BETWEEN, _LABEL = 16, 28, 26  # around the picture; between panels; beside and above a grid
_TITLE, _LINE = 26, 16  # heights of the title and of one relation name
_MIN_WIDTH = 176  # of a panel, so that relation names have room
_MAX_NAMES, _CHARACTER = 8, 6.3  # relation names listed, and the mean width of a character at 11 px

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def draw_structure(structure: Structure) -> str:
    """One block matrix."""
    M = structure.blocks
    width, height = 2 * _MARGIN + _side(M), 2 * _MARGIN + _side(M)
    return _document(width, height, [_grid(structure, _MARGIN, _MARGIN)], "block structure")


def draw_function(function: ScoringFunction) -> str:
    """One block matrix for each group, side by side, with its relations beneath."""
    captions = [_caption(function, group) for group in range(len(function.structures))]
    side = _side(function.blocks)
    panel = max(side, _MIN_WIDTH if any(captions) else 0)
    several = len(captions) > 1
    top = _MARGIN + (_TITLE if function.name else 0)
    grid_top = top + (_TITLE if several else 0)
    lines = max(map(len, captions))
    parts = [_text(_MARGIN, top - 12, function.name, size=15, weight=600)] if function.name else []
    for group, (structure, caption) in enumerate(zip(function.structures, captions, strict=True)):
        left = _MARGIN + group * (panel + _BETWEEN)
        if several:
            parts.append(_text(left, grid_top - 12, f"group {group + 1}", size=12, weight=600))
        parts.append(_grid(structure, left, grid_top))
        for line, name in enumerate(caption):
            y = grid_top + side + 4 + (line + 1) * _LINE
            parts.append(_text(left + 2, y, _fit(name, panel), size=11, colour=_FAINT))
    width = 2 * _MARGIN + max(len(captions) * (panel + _BETWEEN) - _BETWEEN, 9 * len(function.name or ""))
    height = grid_top + side + lines * _LINE + (4 if lines else 0) + _MARGIN
    return _document(width, height, parts, function.name or "scoring function")


def _side(M: int) -> int:
    return _LABEL + M * _PITCH - _GAP


def _caption(function: ScoringFunction, group: int) -> list[str]:
    names = list(function.relations_of(group))
    if len(names) > _MAX_NAMES:
        rest = len(names) - _MAX_NAMES + 1
        return [*names[: _MAX_NAMES - 1], f"… and {rest} more"]
    if not names and len(function.structures) > 1:
        return ["(no relations)"]
    return names


def _fit(name: str, width: float) -> str:
    """Shorten in the middle: long relation names differ at either end."""
    room = int(width / _CHARACTER)
    if len(name) <= room:
        return name
    head = (room - 1) // 2
    return name[:head] + "…" + name[len(name) - (room - 1 - head) :]


def _grid(structure: Structure, left: int, top: int) -> str:
    M = structure.blocks
    x0, y0 = left + _LABEL, top + _LABEL
    parts = []
    for n in range(M):
        centre = n * _PITCH + _CELL / 2
        parts.append(_text(x0 + centre, y0 - 9, _name("t", n), colour=_FAINT, anchor="middle", style="italic"))
        parts.append(_text(x0 - 9, y0 + centre + 4.5, _name("h", n), colour=_FAINT, anchor="end", style="italic"))
    for i, row in enumerate(structure.cells):
        for j, entry in enumerate(row):
            parts.append(_cell(entry, x0 + j * _PITCH, y0 + i * _PITCH))
    return "<g>" + "".join(parts) + "</g>"


def _cell(entry: int, x: int, y: int) -> str:
    if not entry:
        return f'<rect class="empty" {_box(x, y)} fill="{_EMPTY}"/>'
    k = abs(entry) - 1
    colour, ink = _COLOURS[k]
    if entry > 0:
        shape = f'<rect class="positive" {_box(x, y)} fill="{colour}"/>'
        label = _name("r", k)
    else:
        fill = f'fill="url(#minus{k + 1})" stroke="{colour}" stroke-width="2"'
        shape = f'<rect class="negative" {_box(x, y, inset=1)} {fill}/>'
        label, ink = "−" + _name("r", k), _INK
    return shape + _text(x + _CELL / 2, y + _CELL / 2 + 5, label, colour=ink, size=15, anchor="middle", style="italic")


def _box(x: int, y: int, inset: int = 0) -> str:
    side = _CELL - 2 * inset
    return f'x="{x + inset}" y="{y + inset}" width="{side}" height="{side}" rx="{7 - inset}"'


def _name(letter: str, n: int) -> str:
    return letter + str(n + 1).translate(_SUBSCRIPTS)


def _text(
    x: float,
    y: float,
    text: str,
    size: int = 13,
    colour: str = _INK,
    anchor: str = "start",
    weight: int = 400,
    style: str = "normal",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}" font-style="{style}">{escape(text)}</text>'
    )


def _document(width: int, height: int, parts: list[str], title: str) -> str:
    hatches = "".join(_hatch(k, colour) for k, (colour, _) in enumerate(_COLOURS, start=1))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" '
        f'role="img" font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">\n'
        f"<title>{escape(title)}</title>\n<defs>{hatches}</defs>\n"
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _hatch(k: int, colour: str) -> str:
    return (
        f'<pattern id="minus{k}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)">'
        f'<rect width="7" height="7" fill="#FFFFFF"/>'
        f'<rect width="7" height="7" fill="{colour}" fill-opacity="0.16"/>'
        f'<rect width="2" height="7" fill="{colour}" fill-opacity="0.32"/></pattern>'
    )
