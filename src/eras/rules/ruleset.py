"""Rules as a table, and as text.

A row is `head ← body`. Relations are directed: d < R is a relation r read from X, d ≥ R is relation d − R read
towards X. A closed rule has no `head_entity`: its body leads from X to Y. A rule with constants has one, and the body
leads from X to `body_entity`, or, without that, anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.files import replacing
from eras.graph import Vocabulary
from eras.graph.archive import read_parquet
from eras.rules.index import LONGEST

BODY = tuple(f"body{step}" for step in range(1, LONGEST + 1))
SCHEMA = {
    "head": pl.Int32,
    "head_entity": pl.Int32,
    **dict.fromkeys(BODY, pl.Int32),
    "body_entity": pl.Int32,
    "support": pl.Int64,
    "predicted": pl.Int64,
    "confidence": pl.Float32,
}
TRUST_IN_LONG, TRUST_IN_PATHS, TRUST_IN_ANY = 0.2, 0.1, 0.1
"""Factors of the confidence of closed rules with more than three atoms, of rules with a constant two edges away, and of
rules with none in the body: the more bodies of a kind there are, the more of them do well by luck."""

MOST_LINES = 1_000_000
"""The text file holds the most confident rules, at most so many; the Parquet file holds all."""

VARIABLES = "ABCD"


@dataclass(frozen=True, eq=False, repr=False)
class RuleSet:
    """Rules over a graph's names, the most trusted first."""

    frame: pl.DataFrame
    entities: Vocabulary
    relations: Vocabulary

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        closed = self.frame["head_entity"].null_count()
        return f"<RuleSet: {closed:,} closed rules, {len(self) - closed:,} with constants>"

    @classmethod
    def of(cls, parts: Sequence[pl.DataFrame], entities: Vocabulary, relations: Vocabulary) -> RuleSet:
        """Closed rules and rules with constants in one set."""
        frame = pl.concat([part.select(*SCHEMA) for part in parts], rechunk=True)
        return cls(frame.sort(trusted(), "support", descending=True, maintain_order=True), entities, relations)

    def about(self, relation: str) -> RuleSet:
        """The rules that predict a relation."""
        r = self.relations.id(relation)
        picked = self.frame.filter(pl.col("head").is_in([r, r + len(self.relations)]))
        return RuleSet(picked, self.entities, self.relations)

    def text(self, row: int) -> str:
        """`speaks(X, Y) ← lives(X, A), language_of(Y, A)`"""
        return write_rule(self.frame.row(row, named=True), self.entities, self.relations)

    def to_dicts(self, rows: range | None = None) -> list[dict[str, Any]]:
        """The rules as text, with their figures."""
        figures = ("support", "predicted", "confidence")
        frame = self.frame if rows is None else self.frame[rows.start : rows.stop]
        return [
            {"rule": write_rule(row, self.entities, self.relations), **{name: row[name] for name in figures}}
            for row in frame.iter_rows(named=True)
        ]

    def save(self, folder: Path) -> None:
        """Write rules.parquet, and rules.txt for people: confidence, support, predicted, rule."""
        with replacing(folder / "rules.parquet") as temporary:
            self.frame.write_parquet(temporary)
        with replacing(folder / "rules.txt") as temporary, temporary.open("w", encoding="utf-8") as stream:
            for row in self.frame[:MOST_LINES].iter_rows(named=True):
                rule = write_rule(row, self.entities, self.relations)
                stream.write(f"{row['confidence']:.4f}\t{row['support']}\t{row['predicted']}\t{rule}\n")

    @classmethod
    def load(cls, folder: Path, entities: Vocabulary, relations: Vocabulary) -> RuleSet:
        return cls(read_parquet(folder / "rules.parquet", SCHEMA), entities, relations)


def trusted() -> pl.Expr:
    """The confidence, less what rules of that kind have by luck."""
    constant = pl.col("head_entity").is_not_null()
    trust = (
        pl.when(pl.col(BODY[3]).is_not_null())
        .then(TRUST_IN_LONG)
        .when(constant & pl.col("body_entity").is_null())
        .then(TRUST_IN_ANY)
        .when(constant & pl.col(BODY[1]).is_not_null())
        .then(TRUST_IN_PATHS)
        .otherwise(1.0)
    )
    return (pl.col("confidence") * trust).cast(pl.Float32)


def write_rule(row: dict[str, Any], entities: Vocabulary, relations: Vocabulary) -> str:
    """A row as text."""

    def atom(d: int, x: str, y: str) -> str:
        forwards = d < len(relations)
        first, second = (x, y) if forwards else (y, x)
        return f"{relations.label(d if forwards else d - len(relations))}({first}, {second})"

    steps = [row[column] for column in BODY if row[column] is not None]
    if row["head_entity"] is None:
        head, end = "Y", "Y"
    else:
        head = entities.label(row["head_entity"])
        end = VARIABLES[len(steps) - 1] if row["body_entity"] is None else entities.label(row["body_entity"])
    places = ["X", *VARIABLES[: len(steps) - 1], end]
    body = ", ".join(atom(d, x, y) for d, x, y in zip(steps, places, places[1:], strict=False))
    return f"{atom(row['head'], 'X', head)} ← {body}"


def closed_frame(
    body: npt.NDArray[np.integer],
    head: npt.NDArray[np.integer],
    support: npt.NDArray[np.integer],
    predicted: npt.NDArray[np.integer],
    doubt: float,
    n_relations: int,
) -> pl.DataFrame:
    """Closed rules as rows; a rule read from its tail is turned round, so that all heads are relations r(X, Y).

    A body that is its own reverse says the same of both directions, and is taken once.
    """
    turned = head >= n_relations
    body = np.where(turned[:, None], reversed_bodies(body, n_relations), body)
    columns = {
        "head": np.where(turned, head - n_relations, head),
        **dict(zip(BODY, body.T, strict=True)),
        "support": support,
        "predicted": predicted,
    }
    return rule_frame(columns, doubt).unique(["head", *BODY], keep="first", maintain_order=True)


def reversed_bodies(body: npt.NDArray[np.integer], n_relations: int) -> npt.NDArray[np.integer]:
    """The bodies (k, 5) read from their other end."""
    length = (body >= 0).sum(1)
    place = length[:, None] - 1 - np.arange(body.shape[1])
    step = np.take_along_axis(body, np.maximum(place, 0), 1)
    return np.where(place < 0, -1, np.where(step < n_relations, step + n_relations, step - n_relations))


def rule_frame(columns: dict[str, npt.NDArray[np.integer]], doubt: float) -> pl.DataFrame:
    """Rules as rows, from the columns they have: −1, like a column that is not given, says that there is nothing."""
    size = len(columns["support"])
    frame = pl.DataFrame(
        {
            name: pl.Series(columns[name]) if name in columns else pl.repeat(None, size, dtype=pl.Int32, eager=True)
            for name in SCHEMA
            if name != "confidence"
        }
    )
    ids = [name for name, kind in SCHEMA.items() if kind == pl.Int32]
    missing = [pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in ids]
    confidence = (pl.col("support") / (pl.col("predicted") + doubt)).alias("confidence")
    return frame.with_columns(*missing, confidence).cast(SCHEMA)  # type: ignore[arg-type]  # a plain dict of types is what it takes
