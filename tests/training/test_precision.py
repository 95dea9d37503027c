"""Training whose products are of bfloat16."""

from typing import Any

import pytest
import torch

import eras
from eras.errors import SettingError
from eras.models.multiply import multiplies_bfloat16


@pytest.mark.parametrize("candidates", [{}, {"negatives": 40, "full_epochs": 1}])
def test_fewer_bits_cost_little_and_can_be_repeated(candidates: dict[str, Any]) -> None:
    settings = {"dim": 64, "epochs": 12, "patience": 12, "batch_size": 64, "threads": 2, **candidates}
    if not multiplies_bfloat16():
        with pytest.raises(SettingError, match="AVX-512 BF16 or AMX"):
            eras.train("umls", "complex", precision="bfloat16", **settings)
        return
    exact = eras.train("umls", "complex", **settings)
    rounded, again = (eras.train("umls", "complex", precision="bfloat16", **settings) for _ in range(2))
    assert rounded.metrics["valid"]["mrr"] == pytest.approx(exact.metrics["valid"]["mrr"], abs=0.03)
    for name, table in rounded.scorer.tables.items():
        assert table.dtype == torch.float32
        assert torch.equal(table, again.scorer.tables[name])
        assert not torch.equal(table, exact.scorer.tables[name])


def test_other_models_refuse_it() -> None:
    with pytest.raises(SettingError, match=r"for block structures, not for transe|AVX-512"):
        eras.train("umls", "transe", precision="bfloat16")
