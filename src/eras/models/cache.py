"""Blocks of scores in runs of rows that stay in cache: several operations on a run then cost one pass over memory."""

from __future__ import annotations

from torch import Tensor

_CACHE_BYTES = 3 << 20


def rows_in_cache(scores: Tensor) -> list[slice]:
    """Runs of rows of (n, B) that are no larger than the cache; a GPU takes them all."""
    on_cpu = scores.device.type == "cpu"
    at_once = max(1, _CACHE_BYTES // (scores.element_size() * max(1, scores.shape[1]))) if on_cpu else len(scores)
    return [slice(start, start + at_once) for start in range(0, len(scores), at_once)]
