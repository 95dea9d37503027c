"""Every named function learns a real graph with the settings chosen for it."""

from __future__ import annotations

import pytest

import eras
from eras.scoring import NAMES

# DistMult is symmetric and most relations of UMLS are not; CP has no vector of its own for an entity as head and tail.
WEAKER = {"distmult": 0.8, "cp": 0.8}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_named_function_reaches_a_good_test_mrr_on_umls(name: str) -> None:
    model = eras.train("umls", name)
    assert model.metrics["test"]["mrr"] >= WEAKER.get(name, 0.88)
