"""Taking turns: what is compared runs one after the other, again and again.

Other programs, the clock of the processor and its temperature change within seconds. Two things that alternate meet the
same changes, so the ratio of their medians holds where seconds do not.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

Action = Callable[[], float]
"""Does something once and says how many seconds that took."""

Answer = TypeVar("Answer")


def timed(action: Callable[[], object]) -> Action:
    def once() -> float:
        began = time.perf_counter()
        action()
        return time.perf_counter() - began

    return once


def repeated(action: Action, seconds: float) -> Action:
    """The mean of as many in a row as fill a turn of so many seconds, by the second of two; one, if that takes longer.

    Where two libraries have threads of their own, those of the one spin for a while into the turn of the other.
    """
    action()
    times = math.ceil(seconds / action())
    return lambda: sum(action() for _ in range(times)) / times


def take_turns(*actions: Action, least: int, seconds: float = 0.0) -> list[list[float]]:
    """The seconds of each action, turn by turn: at least so many turns, and more until so many seconds are over."""
    times: list[list[float]] = [[] for _ in actions]
    began = time.perf_counter()
    while len(times[0]) < least or time.perf_counter() - began < seconds:
        for action, taken in zip(actions, times, strict=True):
            taken.append(action())
    return times


def in_turn(ways: Mapping[str, Callable[[], Answer]], repeats: int) -> dict[str, list[Answer]]:
    """What each way answers, turn by turn. One more turn comes first and does not count: it fills caches."""
    answers: dict[str, list[Answer]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            answer = way()
            if turn:
                answers[name].append(answer)
    return answers


def full_batches(of_epoch: int) -> Iterator[tuple[int, int]]:
    """(epoch, step) without end, for the full batches of an epoch: its last one may be smaller and is left out."""
    return ((epoch, step) for epoch in itertools.count() for step in range(of_epoch))


def median_of(answers: Sequence[Mapping[str, Any]], fact: str) -> float:
    return float(statistics.median(answer[fact] for answer in answers))


def median_ratio(ours: list[float], limit: list[float]) -> float:
    return statistics.median(ours) / statistics.median(limit)
