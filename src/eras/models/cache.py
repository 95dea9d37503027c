"""Blocks of scores in runs of rows that stay in cache: several operations on a run then cost one pass over memory."""

from __future__ import annotations

import torch
from torch import Tensor

_CACHE_BYTES = 6 << 20

_FOR_ONE_THREAD = 1 << 18
"""Numbers that reach another core in less time than a second sum takes."""


def rows_in_cache(scores: Tensor) -> list[slice]:
    """Runs of rows of (n, B), as good as equally long, that are no larger than the cache; a GPU takes them all."""
    rows, on_cpu = len(scores), scores.device.type == "cpu"
    at_once = max(1, _CACHE_BYTES // (scores.element_size() * max(1, scores.shape[1]))) if on_cpu else max(1, rows)
    even = -(-rows // max(1, -(-rows // at_once)))
    return [slice(start, min(start + even, rows)) for start in range(0, rows, max(1, even))]


def column_sums(block: Tensor, dtype: torch.dtype) -> Tensor:
    """Σ over the rows of a block (n, B), as numbers of a type: (B,).

    PyTorch gives each thread a run of rows to compute, but columns to add up, which other threads have computed. Where
    two cores are far apart, fetching them takes longer than all the rest. Here each thread adds up its own rows.
    """
    threads = torch.get_num_threads()
    even = len(block) - len(block) % threads
    if block.device.type != "cpu" or block.numel() < _FOR_ONE_THREAD or not even:
        return block.sum(0, dtype=dtype)
    total = block[:even].view(threads, -1, block.shape[1]).sum(1, dtype=dtype).sum(0, dtype=dtype)
    return total if even == len(block) else total + block[even:].sum(0, dtype=dtype)
