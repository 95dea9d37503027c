"""Metrics: pure functions of a rank table.

A rank under ties is a range low … high. "realistic" takes its middle, "optimistic" its low and "pessimistic" its high
end. The adjusted mean rank index sets the mean rank against that of guessing: 1 is perfect, 0 is chance.
"""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

Ties = Literal["realistic", "optimistic", "pessimistic"]
TIES: tuple[Ties, ...] = ("realistic", "optimistic", "pessimistic")
METRICS = ("mrr", "mr", "amri", "hits@1", "hits@3", "hits@10")

_RANK = {
    "realistic": (pl.col("low") + pl.col("high")) / 2,
    "optimistic": pl.col("low").cast(pl.Float64),
    "pessimistic": pl.col("high").cast(pl.Float64),
}


def _aggregates(ties: Ties) -> list[pl.Expr]:
    rank = _RANK[ties]
    chance = (pl.col("candidates") + 1) / 2
    return [
        (1.0 / rank).mean().alias("mrr"),
        rank.mean().alias("mr"),
        (1.0 - (rank - 1).mean() / (chance - 1).mean()).alias("amri"),
        *((rank <= k).mean().alias(f"hits@{k}") for k in (1, 3, 10)),
    ]


def metrics(table: pl.DataFrame, ties: Ties = "realistic") -> dict[str, float]:
    """MRR, mean rank, adjusted mean rank index and Hits@1/3/10 of a rank table."""
    return table.select(_aggregates(ties)).row(0, named=True)


def breakdown(table: pl.DataFrame, by: str, ties: Ties = "realistic") -> list[dict[str, Any]]:
    """The metrics for each value of the column `by`, with the number of ranks behind them, largest first."""
    grouped = table.group_by(by).agg(pl.len().alias("ranks"), *_aggregates(ties))
    return grouped.sort(["ranks", by], descending=[True, False]).to_dicts()
