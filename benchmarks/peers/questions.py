"""The questions (h, r, ?) that every system answers: training knows some of their answers, which are to be left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy.typing as npt

from benchmarks.peers.talk import some
from benchmarks.threads import one_thread
from benchmarks.turns import timed


def answering(answer: Callable[[int, int], object], train: npt.NDArray[Any], count: int) -> dict[str, Any]:
    """The seconds that each question takes, one at a time and on one thread, since a service answers side by side."""
    with one_thread():
        return {"seconds": [timed(partial(answer, h, r))() for h, r, _ in some(train, count).tolist()]}
