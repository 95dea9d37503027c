"""The graphs of the benchmarks, or random ones of the same size where they are not at hand."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import polars as pl

from eras.errors import ErasError
from eras.graph import Graph, load_graph

SHIPPED = ("umls",)
"""Graphs that are part of the package."""


@dataclass(frozen=True)
class Size:
    entities: int
    relations: int
    train: int
    valid: int
    test: int

    @property
    def triples(self) -> int:
        return self.train + self.valid + self.test


SIZES = {
    "umls": Size(135, 46, 5_216, 652, 661),
    "wn18rr": Size(40_943, 11, 86_835, 3_034, 3_134),
    "fb15k237": Size(14_541, 237, 272_115, 17_535, 20_466),
    "humangene": Size(99_311, 23, 1_074_039, 10_000, 10_000),
}


def graph_or_stand_in(name: str) -> Graph:
    """The named graph where it is at hand (in ERAS_DATA, the cache or the package), else a random one of its size."""
    if "ERAS_DATA" in os.environ or name in SHIPPED:
        try:
            return load_graph(name)
        except ErasError as error:
            print(f"  {name} is not at hand ({error})")
    print(f"  {name}: a random graph of the same size stands in; set ERAS_DATA for the real one", flush=True)
    return stand_in(f"random-{name}", SIZES[name])


def stand_in(name: str, size: Size) -> Graph:
    """A random graph in which every entity occurs and few occur often, as in real ones; always the same."""
    share = size.valid / size.triples, size.test / size.triples
    return load_graph(random_triples(size), name=name, holdout=share)


def random_triples(size: Size) -> pl.DataFrame:
    """head, relation, tail: names such as `entity:17`. A few triples may come twice."""
    rng = np.random.default_rng(0)
    ends = (size.entities * rng.random((size.triples, 2)) ** 2).astype(np.int64)
    present = min(size.entities, size.triples)
    ends[:present, 0] = rng.permutation(size.entities)[:present]
    relations = rng.integers(size.relations, size=size.triples)
    return pl.DataFrame(
        {
            "head": "entity:" + pl.Series(ends[:, 0]).cast(pl.String),
            "relation": "relation:" + pl.Series(relations).cast(pl.String),
            "tail": "entity:" + pl.Series(ends[:, 1]).cast(pl.String),
        }
    )
