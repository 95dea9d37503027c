from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eras.graph.queries import TAIL
from eras.models import BlockBilinear
from eras.models.cache import rows_in_cache
from eras.models.multiply import product
from eras.scoring import named

SHAPES = [(1, 1, 1), (5000, 63, 256), (5000, 65, 127), (3000, 160, 300), (300, 16_000, 64)]
"""(n, k, m); the first is small, the last has rows that are longer than they are many."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_has_all_bits_of_its_factors(shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    numbers = torch.Generator().manual_seed(0)
    x, w = torch.randn(n + 3, k, generator=numbers)[3:], torch.randn(k, m, generator=numbers)
    exact = x.double() @ w.double()
    close = partial(torch.testing.assert_close, rtol=0, atol=2e-6 * k**0.5 * 4)  # 16 bits would be 500 times worse
    for left in (x, x.t().contiguous().t()):
        for right in (w, w.t().contiguous().t()):
            room = torch.full((n, m), torch.nan)
            assert product(left, right, room) is room
            close(room.double(), exact)
            product(left, right, room, add=True)
            close(room.double(), 2 * exact)


def test_products_leave_the_settings_of_pytorch_alone() -> None:
    setting = torch.backends.mkldnn.matmul
    x = torch.ones(500, 500)
    for chosen in ("none", "ieee"):
        setting.fp32_precision = chosen
        product(x, x, torch.empty(500, 500))
        with pytest.raises(RuntimeError):
            product(x, x[:-1], torch.empty(500, 500))
        assert setting.fp32_precision == chosen
    setting.fp32_precision = "none"


def test_entities_that_are_equal_score_the_same_wherever_they_stand() -> None:
    """Otherwise ties would be broken by rounding."""
    model = BlockBilinear(named("complex"), ["r"], 20_011, 128, reciprocal=True)
    model.initialise(0, "normal", 0.1)
    same = torch.tensor([0, 1, 4_999, 5_000, 13_337, 20_009, 20_010])
    model.entities[same] = model.entities[0].clone()
    asked = torch.arange(500).numpy()
    scores = model.scores(asked, asked * 0, asked * 0 + TAIL)
    assert len(rows_in_cache(scores)) > 3
    assert (scores[same] == scores[0]).all()


@given(st.integers(0, 50_000), st.integers(1, 5_000))
def test_runs_of_rows_cover_a_block_evenly(rows: int, columns: int) -> None:
    runs = rows_in_cache(torch.empty(1, columns).expand(max(rows, 1), columns)[:rows])
    assert [start for run in runs for start in range(run.start, run.stop)] == list(range(rows))
    lengths = [run.stop - run.start for run in runs]
    assert not lengths or max(lengths) * columns * 4 <= max(6 << 20, columns * 4)
    assert not lengths or max(lengths) - min(lengths) < len(lengths)
