"""How a table of triples is laid out: delimiter, header, and which columns hold head, relation and tail."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eras.errors import DataError, UnknownNameError

Columns = Sequence[str] | Sequence[int]
"""Three column names or three 1-based numbers, in the order head, relation, tail."""

DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "pipes", " ": "spaces"}
QUOTING = {",", ";", "|"}
"""Delimiters for which double quotes wrap a field. In tab- and space-separated text they belong to the name:
published graphs hold names such as `"Heroes"_(album)` that must not be changed."""

ROLE_WORDS = (
    {"head", "subject", "h", "s", "source", "src", "from", "subj", "head_id", "subject_id", "start"},
    {
        "relation",
        "predicate",
        "r",
        "p",
        "rel",
        "property",
        "edge",
        "type",
        "pred",
        "relation_id",
        "predicate_id",
    },
    {"tail", "object", "t", "o", "target", "dst", "to", "obj", "tail_id", "object_id", "end"},
)


@dataclass(frozen=True)
class Layout:
    delimiter: str
    width: int
    columns: tuple[int, int, int]
    header: bool


def detect_layout(where: str, lines: Sequence[tuple[int, str]], columns: Columns | None) -> Layout:
    """Read the layout off the first lines, given as (line number, text) pairs without blank lines."""
    delimiter, width = delimiter_and_width([text for _, text in lines])
    number, text = lines[0]
    if width < 3:
        raise field_count_error(where, number, text, delimiter, 3)
    first = split_line(text, delimiter)
    if columns is not None:
        chosen = pick_columns(f"{where}, line {number}", first, columns)
        header = isinstance(columns[0], str) or _are_role_words(first, chosen)
        return Layout(delimiter, width, chosen, header)
    by_words = columns_by_words(first)
    if by_words is not None:
        return Layout(delimiter, width, by_words, True)
    if width > 3:
        number, text = next((n, t) for n, t in lines if len(split_line(t, delimiter)) != 3)
        raise field_count_error(where, number, text, delimiter, 3)
    return Layout(delimiter, width, (0, 1, 2), False)


def split_line(text: str, delimiter: str) -> list[str]:
    """Fields of one line, stripped of surrounding space; a quote that is not closed raises csv.Error."""
    if delimiter == " ":
        return text.split()
    if delimiter in QUOTING and '"' in text:
        fields = next(csv.reader([text.strip()], delimiter=delimiter, strict=True, skipinitialspace=True))
    else:
        fields = text.split(delimiter)
    return [field.strip() for field in fields]


def field_count_error(where: str, number: int, text: str, delimiter: str, width: int) -> DataError:
    """The line does not have `width` fields: say how many it has, and whether another delimiter would fit."""
    found = _width(text, delimiter)
    place = f"{where}, line {number}: "
    expected = "3 fields (head, relation, tail)" if width == 3 else f"{width} fields, like the lines before it"
    other = next((d for d in DELIMITERS if d != delimiter and _width(text, d) == width), None)
    if other is not None:
        return DataError(
            f"{place}mixed delimiters: this line is separated by {DELIMITERS[other]}, "
            f"the others by {DELIMITERS[delimiter]}: {shorten(text)}"
        )
    hint = "; if the file has more columns, name the three (--columns)" if found > width == 3 else ""
    return DataError(
        f"{place}{found} field{'' if found == 1 else 's'} separated by {DELIMITERS[delimiter]}, "
        f"expected {expected}{hint}: {shorten(text)}"
    )


def shorten(text: str, limit: int = 80) -> str:
    text = text.strip("\r\n")
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def pick_columns(where: str, names: Sequence[str], columns: Columns) -> tuple[int, int, int]:
    """0-based positions of the three columns asked for, out of those `where` has."""
    if len(columns) != 3 or len(set(columns)) != 3:
        raise DataError(f"columns must be three different names or numbers (head, relation, tail), not {columns!r}")
    a, b, c = (_position(where, names, column) for column in columns)
    return a, b, c


def parse_columns(text: str) -> Columns:
    """`"1,3,2"` or `"subject,predicate,object"`, as written on a command line."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or len(set(parts)) != 3 or not all(parts):
        raise DataError(f"columns {text!r}: expected three different names or numbers, such as 1,2,3")
    return [int(part) for part in parts] if all(part.isdecimal() for part in parts) else parts


def columns_by_words(names: Sequence[str]) -> tuple[int, int, int] | None:
    """Positions of the columns called head, relation and tail (or a usual word for it), if all are there."""
    low = [name.strip().lower().lstrip("#?") for name in names]
    found = [[i for i, word in enumerate(low) if word in words] for words in ROLE_WORDS]
    if any(len(positions) != 1 for positions in found):
        return None
    return found[0][0], found[1][0], found[2][0]


def _position(where: str, names: Sequence[str], column: str | int) -> int:
    if isinstance(column, int):
        if not 1 <= column <= len(names):
            raise DataError(f"{where}: no column {column}; columns are numbered 1 to {len(names)}")
        return column - 1
    if column not in names:
        error = UnknownNameError("column", column, names)
        raise DataError(f"{where}: {error} The columns are {', '.join(map(repr, names))}.")
    return list(names).index(column)


def _are_role_words(first: Sequence[str], columns: tuple[int, int, int]) -> bool:
    return all(first[i].lower() in words for i, words in zip(columns, ROLE_WORDS, strict=True))


def _width(text: str, delimiter: str) -> int:
    try:
        return len(split_line(text, delimiter))
    except csv.Error:
        return 0


def delimiter_and_width(lines: Sequence[str]) -> tuple[str, int]:
    """The delimiter that gives the most lines the same three or more fields; at a tie the earlier, or 3."""
    best, best_lines = ("\t", 0), 0
    for delimiter in DELIMITERS:
        widths = Counter(_width(line, delimiter) for line in lines)
        fits = [(count, width == 3, width) for width, count in widths.items() if width >= 3]
        count, _, width = max(fits, default=(0, False, 0))
        if count > best_lines:
            best, best_lines = (delimiter, width), count
    if best_lines:
        return best
    return max(DELIMITERS, key=lambda d: _width(lines[0], d)), 0
