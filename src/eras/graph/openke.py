"""OpenKE folders: numbered triples (head, TAIL, relation) beside tables of names, each led by its count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from eras.errors import DataError
from eras.graph.layout import shorten
from eras.graph.streams import line_blocks
from eras.graph.text import ROLES, read_text

TABLES = {"head": "entity2id.txt", "relation": "relation2id.txt", "tail": "entity2id.txt"}


def read_openke(path: Path) -> Iterator[pl.DataFrame]:
    """Yield frames (head, relation, tail: String) named by `entity2id.txt` and `relation2id.txt`."""
    tables = {file: _read_table(_beside(path, file)) for file in dict.fromkeys(TABLES.values())}
    expected, rows = _count(path), 0
    for block in read_text(path, columns=(1, 3, 2), skip=1):
        rows += len(block)
        for role in ROLES:
            block = _named(path, block, role, tables[TABLES[role]])
        yield block
    if rows != expected:
        raise DataError(f"{path}, line 1: announces {expected} triples, but {rows} follow")


def _beside(path: Path, name: str) -> Path:
    candidates = [path.with_name(name + suffix) for suffix in ("", ".gz", ".zst")]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise DataError(f"{candidates[0]}: missing; an OpenKE folder names its numbers in this file")


def _count(path: Path) -> int:
    _, block = next(line_blocks(path), (1, b"\n"))
    text = block[: block.index(b"\n")].strip()
    if not text.isdigit():
        raise DataError(f"{path}, line 1: {shorten(text.decode())} is not a number; OpenKE files begin with a count")
    return int(text)


def _read_table(path: Path) -> pl.DataFrame:
    """Columns id and name (String); ids as text, since that is how triples are read."""
    ids: dict[str, str] = {}
    expected = _count(path)
    for start, block in line_blocks(path, skip=1):
        for number, line in enumerate(block.decode().split("\n"), start):
            fields = line.strip().rsplit(maxsplit=1)
            if not fields:
                continue
            if len(fields) != 2 or not fields[1].isdigit() or fields[1] in ids:
                raise DataError(f"{path}, line {number}: expected a name and a new number, found {shorten(line)}")
            ids[fields[1]] = fields[0].strip()
    if len(ids) != expected:
        raise DataError(f"{path}, line 1: announces {expected} names, but {len(ids)} follow")
    return pl.DataFrame({"id": list(ids), "name": list(ids.values())}, schema={"id": pl.String, "name": pl.String})


def _named(path: Path, block: pl.DataFrame, role: str, table: pl.DataFrame) -> pl.DataFrame:
    names = block.join(table, left_on=role, right_on="id", how="left", maintain_order="left")["name"]
    unknown = names.is_null().arg_true()
    if len(unknown):
        value = block[role][unknown[0]]
        raise DataError(f"{path}: {role} {value!r} is not in {TABLES[role]}, which holds 0 to {len(table) - 1}")
    return block.with_columns(names.alias(role))
