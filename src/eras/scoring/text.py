"""The text form of a structure: one row a line, or rows on one line separated by `/` or `;`.

1  2        entry ±k in row i, column j puts ±<h_i, r_k, t_j> into the score
-2 1        0 or . leaves it out; # starts a comment; +2, r2 and -r2 are accepted
"""

from __future__ import annotations

import re

from eras.errors import StructureError

Cells = tuple[tuple[int, ...], ...]

MAX_BLOCKS = 8

_ENTRY = re.compile(r"([+\-−]?)r?(\d+)")
_BETWEEN_ENTRIES = re.compile(r"[\s,]+")
_BETWEEN_ROWS = re.compile(r"[/;]")


def parse_entry(token: str) -> int | None:
    """The number a token stands for, or None when it is not an entry."""
    if token == ".":
        return 0
    match = _ENTRY.fullmatch(token)
    if match is None:
        return None
    sign, digits = match.groups()
    return -int(digits) if sign in ("-", "−") else int(digits)


def parse_cells(text: str, source: str) -> Cells:
    """Read a square matrix of entries in range; `source` names the text in error messages."""
    rows = _rows(text)
    if not rows:
        raise StructureError(f"{source} holds no structure: write rows such as '1 2 / -2 1'")
    cells = tuple(tuple(_entry(token, line, source) for token in tokens) for line, tokens in rows)
    _check_shape(rows, source)
    for (line, tokens), entries in zip(rows, cells, strict=True):
        for token, entry in zip(tokens, entries, strict=True):
            if abs(entry) > len(rows):
                M = len(rows)
                raise StructureError(
                    f"{source}, line {line}: {token!r} names relation block {abs(entry)}, "
                    f"but a {M}×{M} structure has {M}: write a number in -{M}…{M}"
                )
    return cells


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """(line number, tokens) of every row that is not blank."""
    rows = []
    for line, content in enumerate(text.splitlines(), start=1):
        for row in _BETWEEN_ROWS.split(content.split("#", 1)[0]):
            tokens = [token for token in _BETWEEN_ENTRIES.split(row) if token]
            if tokens:
                rows.append((line, tokens))
    return rows


def _entry(token: str, line: int, source: str) -> int:
    entry = parse_entry(token)
    if entry is None:
        raise StructureError(
            f"{source}, line {line}: {token!r} is not an entry: write a signed relation block "
            "such as 2, -2 or -r2, or 0 (or .) for an empty cell"
        )
    return entry


def _check_shape(rows: list[tuple[int, list[str]]], source: str) -> None:
    M = len(rows)
    if M > MAX_BLOCKS:
        raise StructureError(f"{source} has {M} rows: a structure has 1 to {MAX_BLOCKS} blocks")
    for number, (line, tokens) in enumerate(rows, start=1):
        if len(tokens) != M:
            raise StructureError(
                f"{source}, line {line}: row {number} has {len(tokens)} entries, but there are {M} rows: "
                "a structure is square"
            )


def render_cells(cells: Cells) -> str:
    """Rows on lines, columns aligned, `.` for an empty cell."""
    width = 2 if any(entry < 0 for row in cells for entry in row) else 1
    return "\n".join(" ".join(_show(entry).rjust(width) for entry in row) for row in cells)


def render_inline(cells: Cells) -> str:
    """All rows on one line: `1 2 / -2 1`."""
    return " / ".join(" ".join(_show(entry) for entry in row) for row in cells)


def _show(entry: int) -> str:
    return str(entry) if entry else "."
