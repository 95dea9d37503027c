"""Triples from polars and pandas frames, and from Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from eras.errors import DataError
from eras.graph.layout import Columns, columns_by_words, pick_columns
from eras.graph.text import ROLES

BLOCK_ROWS = 1_000_000


def is_frame(value: object) -> TypeGuard[Any]:
    """A polars or pandas frame; pandas is recognised by its interface, so it need not be installed."""
    return isinstance(value, pl.DataFrame) or (hasattr(value, "iloc") and hasattr(value, "columns"))


def read_frame(frame: Any, columns: Columns | None, where: str = "frame") -> Iterator[pl.DataFrame]:
    """Yield one frame (head, relation, tail: String)."""
    names = [str(name) for name in frame.columns]
    chosen = choose_columns(where, names, columns)
    series = [_series(frame, position) for position in chosen]
    yield _checked(where, pl.DataFrame(dict(zip(ROLES, series, strict=True))), 0)


def read_parquet(path: Path, columns: Columns | None) -> Iterator[pl.DataFrame]:
    """Yield frames (head, relation, tail: String) of at most BLOCK_ROWS rows."""
    try:
        table = pl.scan_parquet(path)
        names = table.collect_schema().names()
        rows = table.select(pl.len()).collect().item()
        chosen = [names[i] for i in choose_columns(str(path), names, columns)]
        for offset in range(0, rows, BLOCK_ROWS):
            block = table.select(chosen).slice(offset, BLOCK_ROWS).collect()
            yield _checked(str(path), block.rename(dict(zip(chosen, ROLES, strict=True))), offset)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from error


def choose_columns(where: str, names: Sequence[str], columns: Columns | None) -> tuple[int, int, int]:
    if columns is not None:
        return pick_columns(where, names, columns)
    by_words = columns_by_words(names)
    if by_words is not None:
        return by_words
    if len(names) != 3:
        raise DataError(
            f"{where}: {len(names)} columns ({', '.join(names)}), expected 3 (head, relation, tail); "
            "name the three with columns"
        )
    return 0, 1, 2


def _series(frame: Any, position: int) -> pl.Series:
    if isinstance(frame, pl.DataFrame):
        return frame.to_series(position)
    column = frame.iloc[:, position]
    values = column.astype(object).where(column.notna(), None).tolist()
    try:
        return pl.Series(values)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"frame, column {frame.columns[position]!r}: expected names or whole numbers ({error})"
        ) from error


def _checked(where: str, frame: pl.DataFrame, offset: int) -> pl.DataFrame:
    """Names as stripped strings; a missing or empty one is an error that names its row (counted from 1)."""
    for role, dtype in frame.schema.items():
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise DataError(f"{where}: the {role} column holds {dtype}, expected names or whole numbers")
    frame = frame.select(pl.all().cast(pl.String).str.strip_chars())
    for role in ROLES:
        empty = (frame[role].is_null() | (frame[role] == "")).arg_true()
        if len(empty):
            raise DataError(f"{where}, row {offset + empty[0] + 1}: the {role} is empty; expected three names")
    return frame
