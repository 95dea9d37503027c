"""Triples with a label: true or false."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.errors import DataError
from eras.graph.layout import columns_by_words, delimiter_and_width, shorten, split_line
from eras.graph.streams import line_blocks
from eras.graph.text import SAMPLE_LINES, detect, filled_lines, split_block
from eras.graph.vocabulary import Vocabulary

TRUE, FALSE = ("1", "+1"), ("0", "-1")
SHOWN = 10
"""Unknown names that an error lists."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """triples: (n, 3) ids; truth: (n,) bool; skipped: triples that were left out, for an unknown name or for want of a
    false partner."""

    triples: npt.NDArray[np.int64]
    truth: npt.NDArray[np.bool_]
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.truth)


def read_labelled(
    path: str | Path, entities: Vocabulary, relations: Vocabulary, *, skip_unknown: bool = False
) -> Labelled:
    """Lines of head, relation, tail and 0 / 1 (or −1 / 1), in this order or as a header line says."""
    path = Path(path)
    frame, lines = _read(path)
    truth = _truth(path, frame["label"], lines)
    ids = np.stack(
        [
            entities.lookup(frame["head"]),
            relations.lookup(frame["relation"]),
            entities.lookup(frame["tail"]),
        ],
        axis=1,
    )
    unknown = (ids < 0).any(1)
    if unknown.any() and not skip_unknown:
        raise _unknown_names(path, frame, lines, ids)
    kept = ~unknown
    if not kept.any():
        raise DataError(f"{path}: every triple has a name that the graph does not know")
    labelled = Labelled(ids[kept], truth[kept], int(unknown.sum()))
    if labelled.truth.all() or not labelled.truth.any():
        only = "true" if labelled.truth.all() else "false"
        raise DataError(f"{path}: all {len(labelled):,} triples are labelled {only}; expected some of both kinds")
    return labelled


def _read(path: Path) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Columns head, relation, tail, label, and the number of each line."""
    frames, numbers, layout = [], [], None
    for start, block in line_blocks(path):
        header = False
        if layout is None:
            sample = list(islice(filled_lines(start, block), SAMPLE_LINES))
            if not sample:
                continue
            delimiter, width = delimiter_and_width([text for _, text in sample])
            if width != 4:
                odd = next((line for line in sample if len(split_line(line[1], delimiter)) != 4), sample[0])
                raise DataError(
                    f"{path}, line {odd[0]}: expected 4 fields (head, relation, tail, label): {shorten(odd[1])}"
                )
            layout = detect(path, sample, (1, 2, 3))
            first = split_line(sample[0][1], layout.delimiter)
            roles = columns_by_words(first) or (0, 1, 2)
            order = (*roles, ({0, 1, 2, 3} - set(roles)).pop())
            header = columns_by_words(first) is not None and first[order[3]] not in (*TRUE, *FALSE)
        frame, lines = split_block(path, start, block, layout.delimiter, layout.width)
        if header:
            frame, lines = frame[1:], lines[1:]
        names = ("head", "relation", "tail", "label")
        frames.append(
            frame.select(pl.col(str(i)).str.strip_chars().alias(n) for i, n in zip(order, names, strict=True))
        )
        numbers.append(lines)
    if not frames or not sum(map(len, numbers)):
        raise DataError(f"{path}: the file holds no triples; expected lines of head, relation, tail and 0 or 1")
    return pl.concat(frames), np.concatenate(numbers)


def _truth(path: Path, labels: pl.Series, lines: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    odd = (~labels.is_in([*TRUE, *FALSE])).arg_true()
    if len(odd):
        row = int(odd[0])
        raise DataError(
            f"{path}, line {lines[row]}: label {shorten(labels[row])}; expected 1 (true) or 0 (or -1: false)"
        )
    if labels.is_in(["0"]).any() and labels.is_in(["-1"]).any():
        row = int(labels.is_in(["-1"]).arg_true()[0])
        raise DataError(f"{path}, line {lines[row]}: label '-1' in a file that has 0 too; say false in one way")
    return labels.is_in(TRUE).to_numpy()


def _unknown_names(
    path: Path, frame: pl.DataFrame, lines: npt.NDArray[np.int64], ids: npt.NDArray[np.int64]
) -> DataError:
    found: dict[tuple[str, str], int] = {}
    for row in np.flatnonzero((ids < 0).any(1)):
        for column, role in enumerate(("head", "relation", "tail")):
            if ids[row, column] < 0:
                kind = "relation" if role == "relation" else "entity"
                found.setdefault((kind, frame[role][int(row)]), int(lines[row]))
    shown = ", ".join(f"{kind} {shorten(name)} (line {line})" for (kind, name), line in list(found.items())[:SHOWN])
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    triples = int((ids < 0).any(1).sum())
    return DataError(
        f"{path}: {triples:,} of {len(frame):,} triples have a name that the graph does not know, or knows as a "
        f"label of several: {shown}{more}; "
        "--skip-unknown leaves these triples out"
    )
