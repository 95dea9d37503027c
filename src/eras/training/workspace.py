"""Memory that training uses again in every step, so that no step pays for fresh pages."""

from __future__ import annotations

import torch
from torch import Tensor

_SLACK = 1.1
"""Room beyond what is asked for: sampled candidates are a few more in one step than in another."""


class Rooms:
    """Uninitialised arrays by purpose; each grows to the largest that was asked for, and is overwritten by the next."""

    def __init__(self) -> None:
        self._rooms: dict[str, Tensor] = {}
        self._last: dict[str, Tensor] = {}  # what was asked for last, as that mostly comes again

    def room(self, purpose: str, rows: int, columns: int, like: Tensor) -> Tensor:
        """(rows, columns), of the type and on the device of `like`."""
        last = self._last.pop(purpose, None)
        if last is None or last.shape != (rows, columns):
            last = None  # it holds the memory that `_whole` may free
            last = self._whole(purpose, rows * columns, like)[: rows * columns].view(rows, columns)
        self._last[purpose] = last
        return last

    def _whole(self, purpose: str, size: int, like: Tensor) -> Tensor:
        room = self._rooms.pop(purpose, None)
        if room is None or len(room) < size:
            wanted = size if room is None else int(_SLACK * size)
            room = None  # freed before more is asked for
            room = torch.empty(wanted, dtype=like.dtype, device=like.device)
        self._rooms[purpose] = room
        return room

    def like(self, purpose: str, table: Tensor, kind: Tensor | None = None) -> Tensor:
        """Of the shape of `table` (n, dim), and of its type or that of `kind`."""
        return self.room(purpose, table.shape[0], table.shape[1], table if kind is None else kind)

    def rows(self, purpose: str, table: Tensor, ids: Tensor) -> Tensor:
        """A copy of rows of `table`, (len(ids), dim)."""
        return torch.index_select(table, 0, ids, out=self.room(purpose, len(ids), table.shape[1], table))


class Workspace(Rooms):
    """The arrays of a step, the type of those that are multiplied, and the budget of the largest: a block of scores."""

    def __init__(self, batch_size: int, memory_mb: int, precision: str = "float32") -> None:
        super().__init__()
        self._batch_size, self._bytes = batch_size, memory_mb << 20
        self._narrow = torch.empty(0, dtype=torch.bfloat16) if precision == "bfloat16" else None

    def queries_at_once(self, candidates: int) -> int:
        """How many questions can be compared with that many candidates within the budget."""
        size = 4 if self._narrow is None else 2
        return max(1, min(self._batch_size, self._bytes // (size * candidates)))

    def factor(self, purpose: str, table: Tensor) -> Tensor:
        """`table` as products take it: itself, or a copy in half as many bits."""
        if self._narrow is None:
            return table
        return self.like(f"factor {purpose}", table, self._narrow.to(table.device)).copy_(table)
