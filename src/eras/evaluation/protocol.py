"""The protocol: which triples are ranked, what they are filtered by, and how the result is broken down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from eras.errors import DataError, UnknownNameError
from eras.evaluation.metrics import TIES, breakdown, metrics
from eras.evaluation.ranking import Ranker, rank
from eras.graph import Graph, relation_patterns
from eras.graph.queries import Queries

BREAKDOWNS = ("side", "pattern", "cardinality", "frequency", "relation")
FREQUENCIES = ((0, "unseen"), (1, "1-9"), (10, "10-99"), (100, "100-999"), (1000, "1000+"))
"""Lower bound and name of each class: training triples of the entity that had to be found."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """A split's ranks: one row for each triple and side, with what the breakdowns need."""

    split: str
    table: pl.DataFrame

    @cached_property
    def metrics(self) -> dict[str, float]:
        return metrics(self.table)

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"<Evaluation of {self.split}: {figures}>"

    def by(self, column: str) -> list[dict[str, Any]]:
        """The metrics for each side, pattern, cardinality, frequency or relation."""
        if column not in BREAKDOWNS:
            raise UnknownNameError("breakdown", column, BREAKDOWNS)
        return breakdown(self.table, column)

    def to_json(self) -> dict[str, Any]:
        return {
            "split": self.split,
            **self.metrics,
            "triples": len(self.table) // 2,
            "ties": {ties: metrics(self.table, ties) for ties in TIES},
            "by": {column: self.by(column) for column in BREAKDOWNS},
        }


def evaluate(
    model: Ranker,
    graph: Graph,
    split: Literal["valid", "test"] = "test",
    *,
    memory_mb: int = 512,
    on_progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Rank both sides of every triple of a split among all entities, filtered by train, validation and test."""
    if split not in ("valid", "test"):
        raise UnknownNameError("split to rank", split, ("valid", "test"))
    triples = graph.split(split)
    if not len(triples):
        raise DataError(f"the graph {graph.name!r} has no {split} triples to rank")
    sizes = len(graph.entities), len(graph.relations)
    known = Queries.of(graph.facts, *sizes)
    table = rank(model, Queries.of(triples, *sizes), known, memory_mb=memory_mb, on_progress=on_progress)
    return Evaluation(split, _with_classes(table, graph))


def _with_classes(table: pl.DataFrame, graph: Graph) -> pl.DataFrame:
    """Add pattern and cardinality of the relation and frequency of the answer, and give relations their names."""
    patterns = relation_patterns(graph.facts, len(graph.relations))
    seen = np.bincount(graph.train[:, [0, 2]].ravel(), minlength=len(graph.entities))
    bounds = [bound for bound, _ in FREQUENCIES]
    names = np.array([name for _, name in FREQUENCIES])
    relation = table["relation"].to_numpy()
    answer = np.where(table["side"] == "tail", table["tail"], table["head"])
    return table.with_columns(
        pl.Series("relation", graph.relations.names.gather(relation)),
        pl.Series("pattern", patterns["pattern"].gather(relation)),
        pl.Series("cardinality", patterns["cardinality"].fill_null("unseen").gather(relation)),
        pl.Series("frequency", names[np.searchsorted(bounds, seen[answer], side="right") - 1]),
    )
