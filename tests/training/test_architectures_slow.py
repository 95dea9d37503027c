"""Every model with its own recipe reaches a decent test MRR on UMLS."""

from __future__ import annotations

import pytest

import eras
from eras.models import ARCHITECTURES

LOWEST = {"transe": 0.70, "transh": 0.70, "ntn": 0.70}


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_model_reaches_a_good_test_mrr_on_umls(name: str) -> None:
    model = eras.train("umls", name, seed=0)
    mrr = model.metrics["test"]["mrr"]
    print(f"{name}: test MRR {mrr:.4f}")
    assert mrr >= LOWEST.get(name, 0.80)
