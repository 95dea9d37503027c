"""Blocks of scores in runs of rows that stay in cache: several operations on a run then cost one pass over memory."""

from __future__ import annotations

from torch import Tensor

_CACHE_BYTES = 6 << 20


def rows_in_cache(scores: Tensor) -> list[slice]:
    """Runs of rows of (n, B), as good as equally long, that are no larger than the cache; a GPU takes them all."""
    rows, on_cpu = len(scores), scores.device.type == "cpu"
    at_once = max(1, _CACHE_BYTES // (scores.element_size() * max(1, scores.shape[1]))) if on_cpu else max(1, rows)
    even = -(-rows // max(1, -(-rows // at_once)))
    return [slice(start, min(start + even, rows)) for start in range(0, rows, max(1, even))]
