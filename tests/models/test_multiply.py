import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eras.graph.queries import TAIL
from eras.models import BlockBilinear
from eras.models.cache import rows_in_cache
from eras.models.multiply import product, product_into
from eras.scoring import named


@pytest.mark.parametrize("recurring", [True, False])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5000, 63, 256), (5000, 64, 127), (5000, 64, 128), (3000, 300, 160)])
def test_a_product_is_that_of_its_factors(shape: tuple[int, int, int], recurring: bool) -> None:
    n, m, k = shape
    numbers = torch.Generator().manual_seed(0)
    x, turned = torch.randn(n + 3, k, generator=numbers)[3:], torch.randn(k, m, generator=numbers)
    exact = x.double() @ turned.double()
    for w in (turned.t(), turned.t().contiguous()):
        room = torch.full((n, m), torch.nan)
        assert product_into(room, x, w, recurring=recurring) is room
        for found in (room, product(x, w, recurring=recurring)):
            torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4)


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
