"""Memory that training uses again in every step, so that no step pays for fresh pages."""

from __future__ import annotations

import torch
from torch import Tensor

_SLACK = 1.1
"""Room beyond what is asked for: sampled candidates are a few more in one step than in another."""


class Workspace:
    """A block of scores, no larger than the budget, and a gradient; both grow to the largest that was asked for."""

    def __init__(self, batch_size: int, memory_mb: int) -> None:
        self._batch_size, self._bytes = batch_size, memory_mb << 20
        self._rooms: dict[str, Tensor] = {}

    def queries_at_once(self, candidates: int) -> int:
        """How many questions can be compared with that many candidates within the budget."""
        return max(1, min(self._batch_size, self._bytes // (4 * candidates)))

    def scores(self, candidates: int, queries: int, like: Tensor) -> Tensor:
        """Uninitialised (candidates, queries)."""
        return self._room("scores", candidates, queries, like)

    def gradient(self, table: Tensor) -> Tensor:
        """Uninitialised, of the shape of `table` (n, dim)."""
        return self._room("gradient", table.shape[0], table.shape[1], table)

    def _room(self, purpose: str, rows: int, columns: int, like: Tensor) -> Tensor:
        size = rows * columns
        room = self._rooms.pop(purpose, None)
        if room is None or len(room) < size:
            wanted = size if room is None else int(_SLACK * size)
            room = None  # freed before more is asked for
            room = torch.empty(wanted, dtype=like.dtype, device=like.device)
        self._rooms[purpose] = room
        return room[:size].view(rows, columns)
