"""What is worth knowing about a graph before training on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import polars as pl

from eras.graph.build import unseen
from eras.graph.model import SPLITS, Graph, Triples
from eras.graph.patterns import PATTERNS, relation_patterns


@dataclass(frozen=True)
class PatternTotal:
    pattern: str
    relations: int
    triples: int


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts and relation patterns of a graph, over all of its triples."""

    name: str
    fingerprint: str
    entities: int
    relations: int
    splits: dict[str, int]
    unseen_entities: dict[str, int]
    """Entities of valid and test that never occur in train: no model can have learned them."""
    shared_triples: dict[str, int]
    """Triples that stand in two splits, by pair of splits: what is also in train is no test."""
    mirrored_triples: dict[str, int]
    """Triples of valid and test whose entities stand in train the other way round: half the answer is given away."""
    patterns: pl.DataFrame
    """As `relation_patterns` gives it, the largest first, with `relation_name` and `inverse_name`."""
    totals: tuple[PatternTotal, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; relations by name, not by id."""
        rows = self.patterns.with_columns(relation="relation_name", inverse="inverse_name")
        return {
            **{key: getattr(self, key) for key in ("name", "fingerprint", "entities", "relations", "splits")},
            "unseen_entities": self.unseen_entities,
            "shared_triples": self.shared_triples,
            "mirrored_triples": self.mirrored_triples,
            "totals": [asdict(total) for total in self.totals],
            "patterns": rows.drop("relation_name", "inverse_name").to_dicts(),
            "notes": list(self.notes),
        }


def profile(graph: Graph) -> Profile:
    patterns = _named_patterns(graph)
    return Profile(
        name=graph.name,
        fingerprint=graph.fingerprint,
        entities=len(graph.entities),
        relations=len(graph.relations),
        splits={split: len(graph.split(split)) for split in SPLITS},
        unseen_entities={split: unseen(graph.split(split)[:, [0, 2]], graph.train[:, [0, 2]]) for split in SPLITS[1:]},
        shared_triples={f"{a} and {b}": _shared(graph.split(a), graph.split(b)) for a, b in combinations(SPLITS, 2)},
        mirrored_triples={split: _mirrored(graph.split(split), graph.train) for split in SPLITS[1:]},
        patterns=patterns,
        totals=_totals(patterns),
        notes=graph.notes,
    )


def _named_patterns(graph: Graph) -> pl.DataFrame:
    patterns = relation_patterns(graph.facts, len(graph.relations))
    names = graph.relations.names
    return patterns.with_columns(
        relation_name=names.gather(patterns["relation"]),
        inverse_name=names.gather(patterns["inverse"]),
    ).sort("triples", "relation", descending=[True, False])


def _shared(a: Triples, b: Triples) -> int:
    schema = ["head", "relation", "tail"]
    left, right = (pl.from_numpy(triples, schema=schema, orient="row") for triples in (a, b))
    return len(left.join(right, on=schema, how="semi"))


def _mirrored(a: Triples, b: Triples) -> int:
    """How many triples of `a` have their pair (h, t), h ≠ t, as (t, h) in `b`, under any relation."""
    pairs = pl.from_numpy(a[a[:, 0] != a[:, 2]][:, [0, 2]], schema=["x", "y"], orient="row")
    return len(pairs.join(pl.from_numpy(b[:, [2, 0]], schema=["x", "y"], orient="row"), on=["x", "y"], how="semi"))


def _totals(patterns: pl.DataFrame) -> tuple[PatternTotal, ...]:
    found = {
        row["pattern"]: row for row in patterns.group_by("pattern").agg(pl.len(), pl.col("triples").sum()).to_dicts()
    }
    empty = {"len": 0, "triples": 0}
    return tuple(
        PatternTotal(pattern, row["len"], row["triples"]) for pattern in PATTERNS for row in [found.get(pattern, empty)]
    )
