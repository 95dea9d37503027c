"""What a search gives back, and what a watcher sees while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from eras.scoring import ScoringFunction


@dataclass(frozen=True)
class Found:
    """The function of a search, the reward that chose it, and the others that came close, best first.

    `about` holds what the strategy had to say at the end.
    """

    function: ScoringFunction
    reward: float
    runners_up: tuple[ScoringFunction, ...] = ()
    about: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """Where a search is: the share of the stage that is done, functions tried, seconds so far, and the best of them."""

    stage: str
    share: float
    tried: int
    seconds: float
    best: float
    function: ScoringFunction | None
    entropy: float | None = None


Watch = Callable[[Progress], None]
ShouldStop = Callable[[], bool]
