"""What a search gives back, and what a watcher sees while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from eras.scoring import ScoringFunction


@dataclass(frozen=True)
class Found:
    """The function of a search, the reward that chose it, and the others that came close, best first."""

    function: ScoringFunction
    reward: float
    runners_up: tuple[ScoringFunction, ...] = ()


@dataclass(frozen=True)
class Progress:
    """done and total in the units of the search (epochs or trials); total may change as the search learns its pace."""

    stage: str
    done: float
    total: float
    tried: int
    seconds: float
    best: float
    function: ScoringFunction | None
    entropy: float | None = None
    facts: dict[str, float] = field(default_factory=dict)


Watch = Callable[[Progress], None]
ShouldStop = Callable[[], bool]
