"""Delimited text in bounded memory: a block of lines at a time, checked and split as a whole."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.errors import DataError
from eras.graph.layout import (
    QUOTING,
    Columns,
    Layout,
    detect_layout,
    field_count_error,
    shorten,
    split_line,
)
from eras.graph.streams import line_blocks

ROLES = ("head", "relation", "tail")
SAMPLE_LINES = 200
_EXTRA_SPACES = re.compile(rb"(?m)  |^ | \r?$")

Rows = tuple[pl.DataFrame, npt.NDArray[np.int64]]
"""String columns "0", "1", … and the line number of each row."""


def read_text(path: Path, columns: Columns | None = None, skip: int = 0) -> Iterator[pl.DataFrame]:
    """Yield frames (head, relation, tail: String), names stripped and never empty."""
    layout = None
    for start, block in line_blocks(path, skip):
        header = False
        if layout is None:
            sample = list(islice(filled_lines(start, block), SAMPLE_LINES))
            if not sample:
                continue
            layout = detect(path, sample, columns)
            header = layout.header
        frame, lines = split_block(path, start, block, layout.delimiter, layout.width)
        if header:
            frame, lines = frame[1:], lines[1:]
        frame = frame.select(
            pl.col(str(i)).str.strip_chars().alias(role) for i, role in zip(layout.columns, ROLES, strict=True)
        )
        _reject_empty_fields(path, frame, lines)
        yield frame


def split_block(path: Path, start: int, block: bytes, delimiter: str, width: int) -> Rows:
    """Split a block whose first line is number `start` into `width` columns, leaving out blank lines."""
    if delimiter in QUOTING and b'"' in block:
        return _split_quoted(path, start, block, delimiter, width)
    if delimiter == " " and _EXTRA_SPACES.search(block):
        block = re.sub(rb"(?m)^ | (?=\r?$)", b"", re.sub(rb" +", b" ", block))
    block, lines = _drop_blank_lines(path, start, block, delimiter, width)
    if not len(lines):
        return _frame([[] for _ in range(width)]), lines
    frame = pl.read_csv(
        block,
        has_header=False,
        separator=delimiter,
        quote_char=None,
        schema={str(i): pl.String for i in range(width)},
    )
    return frame.with_columns(pl.all().fill_null("")), lines


def detect(path: Path, sample: list[tuple[int, str]], columns: Columns | None) -> Layout:
    try:
        return detect_layout(str(path), sample, columns)
    except csv.Error as error:
        raise _quote_error(path, *sample[0]) from error


def filled_lines(start: int, block: bytes) -> Iterator[tuple[int, str]]:
    position = 0
    while position < len(block):
        end = block.index(b"\n", position)
        line = block[position:end].decode().rstrip("\r")
        if line.strip():
            yield start, line
        position, start = end + 1, start + 1


def _drop_blank_lines(
    path: Path, start: int, block: bytes, delimiter: str, width: int
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """The block without blank lines, and the numbers of the lines kept; each must have `width` fields."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    marks = np.flatnonzero(data == ord(delimiter))
    counts = np.diff(np.searchsorted(marks, ends), prepend=0)
    odd = np.flatnonzero(counts != width - 1)
    lines = np.arange(start, start + len(ends))
    if not len(odd):
        return block, lines
    for i in odd:
        text = block[ends[i - 1] + 1 if i else 0 : ends[i]]
        if text.strip():
            raise field_count_error(str(path), start + int(i), text.decode(), delimiter, width)
    kept = np.delete(np.arange(len(ends)), odd)
    pieces = block.split(b"\n")
    return b"\n".join([pieces[i] for i in kept]), lines[kept]


def _split_quoted(path: Path, start: int, block: bytes, delimiter: str, width: int) -> Rows:
    """Like `split_block`, by the csv module; a quoted field must end on its line."""
    stripped = [text.strip() for text in block.decode().split("\n")]
    filled = [i for i, text in enumerate(stripped) if text]
    texts = [stripped[i] for i in filled]
    try:
        rows = list(csv.reader(texts, delimiter=delimiter, strict=True, skipinitialspace=True))
    except csv.Error:
        rows = []
    if len(rows) != len(texts) or any(len(row) != width for row in rows):
        raise _first_bad_row(path, [(start + i, stripped[i]) for i in filled], delimiter, width)
    return _frame([list(column) for column in zip(*rows, strict=True)]), np.array(filled, np.int64) + start


def _first_bad_row(path: Path, lines: list[tuple[int, str]], delimiter: str, width: int) -> DataError:
    for number, text in lines:
        try:
            if len(split_line(text, delimiter)) != width:
                return field_count_error(str(path), number, text, delimiter, width)
        except csv.Error:
            return _quote_error(path, number, text)
    return DataError(
        f"{path}, lines {lines[0][0]} to {lines[-1][0]}: a carriage return inside a line, or too long a "
        "field for quoted text; expected three names on each line"
    )


def _frame(columns: list[list[str]]) -> pl.DataFrame:
    return pl.DataFrame({str(i): pl.Series(values, dtype=pl.String) for i, values in enumerate(columns)})


def _quote_error(path: Path, number: int, text: str) -> DataError:
    return DataError(
        f"{path}, line {number}: a quote is left open, or text follows a closing one: {shorten(text)}; "
        'write "" for a quote inside a quoted field'
    )


def _reject_empty_fields(path: Path, frame: pl.DataFrame, lines: npt.NDArray[np.int64]) -> None:
    empty = frame.select((pl.col(role) == "").arg_true().first() for role in ROLES).row(0)
    found = [(row, role) for row, role in zip(empty, ROLES, strict=True) if row is not None]
    if found:
        row, role = min(found, key=lambda pair: pair[0])
        values = ", ".join(map(repr, frame.row(row)))
        raise DataError(f"{path}, line {lines[row]}: the {role} is empty ({values}); expected three names")
