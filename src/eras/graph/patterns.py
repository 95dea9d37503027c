"""What kind of relation a relation is, read off its triples.

| verdict        | condition, first that holds                                                              |
|----------------|------------------------------------------------------------------------------------------|
| symmetric      | at least SYMMETRIC of its pairs (h, t), h ≠ t, also stand as (t, h)                      |
| inverse        | a partner holds at least INVERSE of its pairs reversed, and it as many of the partner's  |
| anti-symmetric | at most ANTI_SYMMETRIC of its pairs, h ≠ t, also stand as (t, h)                         |
| general        | none of these                                                                            |

Give it all facts of a graph where that is allowed: triples that are held out take their mirror images' proof along.
Cardinality is that of Bordes et al. 2013: a side is N when MANY or more entities stand there on average.
"""

from __future__ import annotations

import polars as pl

from eras.graph.build import distinct
from eras.graph.model import Triples

SYMMETRIC = 0.9
INVERSE = 0.8
ANTI_SYMMETRIC = 0.01
MANY = 1.5

PATTERNS = ("symmetric", "anti-symmetric", "inverse", "general")


def relation_patterns(triples: Triples, n_relations: int, slack: float = 0.0) -> pl.DataFrame:
    """One row for each relation id 0 … n_relations − 1.

    `slack` lowers the bounds of symmetric and inverse, for triples of which some are held out.

    Columns: relation, triples, pattern, symmetry, inverse (the partner's id or null), inverse_rate,
    tails_per_head, heads_per_tail, cardinality. `symmetry` is 1 for a relation of loops only; a relation
    without triples is `general`, with null for every statistic.
    """
    frame = pl.from_numpy(distinct(triples), schema=["head", "relation", "tail"], orient="row")
    table = pl.DataFrame({"relation": pl.int_range(n_relations, dtype=pl.Int32, eager=True)})
    reversed_in = _reversals(frame)
    for part in (_sizes(frame), _symmetry(reversed_in), _partners(frame, reversed_in)):
        table = table.join(part, on="relation", how="left", maintain_order="left")
    pairs = pl.col("triples") - pl.col("loops")
    symmetry = pl.when(pairs > 0).then(pl.col("reversed").fill_null(0) / pairs).when(pl.col("triples") > 0).then(1.0)
    table = table.with_columns(symmetry.alias("symmetry"))
    return table.select(
        "relation",
        pl.col("triples").fill_null(0),
        _verdict(slack).alias("pattern"),
        "symmetry",
        "inverse",
        "inverse_rate",
        "tails_per_head",
        "heads_per_tail",
        _cardinality().alias("cardinality"),
    )


def _sizes(frame: pl.DataFrame) -> pl.DataFrame:
    count = pl.len().cast(pl.Int64)
    return frame.group_by("relation").agg(
        count.alias("triples"),
        (pl.col("head") == pl.col("tail")).sum().cast(pl.Int64).alias("loops"),
        (count / pl.col("head").n_unique()).alias("tails_per_head"),
        (count / pl.col("tail").n_unique()).alias("heads_per_tail"),
    )


def _reversals(frame: pl.DataFrame) -> pl.DataFrame:
    """For each relation and other: the pairs (h, t) that stand as (t, h) in other, with and without loops."""
    backwards = frame.select(pl.col("tail").alias("head"), pl.col("head").alias("tail"), other="relation")
    return (
        frame.join(backwards, on=["head", "tail"])
        .group_by("relation", "other")
        .agg(
            pl.len().cast(pl.Int64).alias("shared"),
            (pl.col("head") != pl.col("tail")).sum().cast(pl.Int64).alias("reversed"),
        )
    )


def _symmetry(reversals: pl.DataFrame) -> pl.DataFrame:
    return reversals.filter(pl.col("relation") == pl.col("other")).select("relation", "reversed")


def _partners(frame: pl.DataFrame, reversals: pl.DataFrame) -> pl.DataFrame:
    """The other relation with the greatest min(shared / size, shared / its size); the lower id at a tie."""
    sizes = frame.group_by("relation").len("size")
    return (
        reversals.filter(pl.col("relation") != pl.col("other"))
        .join(sizes, on="relation")
        .join(sizes, left_on="other", right_on="relation", suffix="_other")
        .with_columns(inverse_rate=pl.col("shared") / pl.max_horizontal("size", "size_other"))
        .sort("inverse_rate", "other", descending=[True, False])
        .group_by("relation", maintain_order=True)
        .first()
        .select("relation", pl.col("other").alias("inverse"), "inverse_rate")
    )


def _verdict(slack: float) -> pl.Expr:
    return (
        pl.when(pl.col("symmetry") >= SYMMETRIC - slack)
        .then(pl.lit("symmetric"))
        .when(pl.col("inverse_rate") >= INVERSE - slack)
        .then(pl.lit("inverse"))
        .when(pl.col("symmetry") <= ANTI_SYMMETRIC)
        .then(pl.lit("anti-symmetric"))
        .otherwise(pl.lit("general"))
    )


def _cardinality() -> pl.Expr:
    def side(column: str) -> pl.Expr:
        return pl.when(pl.col(column) >= MANY).then(pl.lit("N")).when(pl.col(column) > 0).then(pl.lit("1"))

    return side("heads_per_tail") + "-" + side("tails_per_head")
