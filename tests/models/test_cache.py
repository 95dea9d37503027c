"""Runs of rows, and sums over them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eras.models import cache
from eras.models.cache import column_sums, rows_in_cache


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_runs_cover_all_rows_once(rows: int, columns: int) -> None:
    runs = rows_in_cache(torch.empty(rows, columns))
    assert [row for run in runs for row in range(run.start, run.stop)] == list(range(rows))
    assert all((run.stop - run.start) * columns * 4 <= max(cache._CACHE_BYTES, 4 * columns) for run in runs)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("dtype", "wanted"), [(torch.float32, torch.float32), (torch.bfloat16, torch.float32), (torch.int32, torch.int32)]
)
@pytest.mark.parametrize("rows", [1, 2, 700, 701])
def test_sums_of_columns(threads: int, dtype: torch.dtype, wanted: torch.dtype, rows: int) -> None:
    block = torch.randint(-9, 9, (rows, 600)).to(dtype)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        sums = column_sums(block, wanted)
    finally:
        torch.set_num_threads(before)
    assert sums.dtype == wanted
    assert torch.equal(sums, block.to(torch.int64).sum(0).to(wanted))
