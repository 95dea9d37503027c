from __future__ import annotations

import numpy as np
import pytest
from graph_files import ring_graphs
from hypothesis import given
from hypothesis import strategies as st

from eras.graph import load_graph, profile, relation_patterns

TRIPLES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 5)), max_size=60)


def brute_force(triples: set[tuple[int, int, int]], relation: int, n_relations: int) -> dict[str, object]:
    """The definitions, word by word."""
    pairs = {(h, t) for h, r, t in triples if r == relation}
    if not pairs:
        return {"triples": 0, "pattern": "general", "symmetry": None, "inverse": None, "cardinality": None}
    others = {r: {(h, t) for h, s, t in triples if s == r} for r in range(n_relations) if r != relation}
    proper = {(h, t) for h, t in pairs if h != t}
    symmetry = sum((t, h) in pairs for h, t in proper) / len(proper) if proper else 1.0
    rates = {}
    for r, other in others.items():
        shared = sum((t, h) in other for h, t in pairs)
        if shared:
            rates[r] = min(shared / len(pairs), shared / len(other))
    inverse = max(rates, key=lambda r: (rates[r], -r)) if rates else None
    tails, heads = len(pairs) / len({h for h, _ in pairs}), len(pairs) / len({t for _, t in pairs})
    if symmetry >= 0.9:
        pattern = "symmetric"
    elif inverse is not None and rates[inverse] >= 0.8:
        pattern = "inverse"
    else:
        pattern = "anti-symmetric" if symmetry <= 0.01 else "general"
    return {
        "triples": len(pairs),
        "pattern": pattern,
        "symmetry": symmetry,
        "inverse": inverse,
        "inverse_rate": None if inverse is None else rates[inverse],
        "tails_per_head": tails,
        "heads_per_tail": heads,
        "cardinality": f"{'N' if heads >= 1.5 else '1'}-{'N' if tails >= 1.5 else '1'}",
    }


@given(TRIPLES)
def test_patterns_agree_with_their_definition(triples: list[tuple[int, int, int]]) -> None:
    table = relation_patterns(np.array(triples, np.int32).reshape(-1, 3), 5)
    assert table["relation"].to_list() == list(range(5))
    for row in table.iter_rows(named=True):
        expected = brute_force(set(triples), row["relation"], 5)
        assert {key: row[key] for key in expected} == pytest.approx(expected)


def test_the_four_patterns_and_their_statistics() -> None:
    married, parent, child, likes = range(4)
    rows = [(h, married, t) for h, t in [(0, 1), (1, 0), (2, 3), (3, 2)]]
    rows += [(h, parent, t) for h, t in [(0, 4), (0, 5), (1, 6)]]
    rows += [(t, child, h) for h, t in [(0, 4), (0, 5), (1, 6)]]
    rows += [(h, likes, t) for h, t in [(0, 2), (2, 0), (0, 3), (0, 6)]]
    table = relation_patterns(np.array(rows, np.int32), 4)
    assert table["pattern"].to_list() == ["symmetric", "inverse", "inverse", "general"]
    assert table["inverse"].to_list()[1:3] == [child, parent]
    assert table["cardinality"].to_list() == ["1-1", "1-N", "N-1", "1-N"]


@given(ring_graphs(min_size=60))
def test_profile_counts(triples: list[tuple[str, str, str]]) -> None:
    import polars as pl

    frames = {"train": triples[:50], "valid": triples[45:53], "test": [*triples[53:], ("new", "r0", "e0")]}
    graph = load_graph({s: pl.DataFrame(rows, orient="row") for s, rows in frames.items()})
    result = profile(graph).to_dict()
    assert result["splits"] == {split: len(rows) for split, rows in frames.items()}
    assert result["shared_triples"] == {"train and valid": 5, "train and test": 0, "valid and test": 0}
    known = {name for h, _, t in frames["train"] for name in (h, t)}
    used = {name for h, _, t in frames["test"] for name in (h, t)}
    assert result["unseen_entities"]["test"] == len(used - known)
    pairs = {(h, t) for h, _, t in frames["train"]}
    assert result["mirrored_triples"]["test"] == sum((t, h) in pairs for h, _, t in frames["test"] if h != t)
    facts = {triple for rows in frames.values() for triple in rows}
    assert sum(total["triples"] for total in result["totals"]) == len(facts)
    sizes = [row["triples"] for row in result["patterns"]]
    assert sizes == sorted(sizes, reverse=True)
    assert {row["relation"] for row in result["patterns"]} == set(graph.relations.names)
