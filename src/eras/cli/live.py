"""The live view of a search: progress, best so far, entropy, time left, and the structures at hand."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from eras.cli.common import console, how_to_go_on, say
from eras.errors import StoppedError

if TYPE_CHECKING:
    from eras.scoring import ScoringFunction
    from eras.search.result import Progress

LOG_SECONDS = 60.0
"""Where the output is no terminal, a line of progress is written this often."""


@contextlib.contextmanager
def search_view(folder: Path) -> Iterator[Callable[[Progress], None]]:
    """Show progress as it comes; on Ctrl-C say how to go on."""
    live = Live(console=console, refresh_per_second=4, transient=True)
    logged = time.monotonic()
    began: dict[str, tuple[float, float]] = {}

    def watch(progress: Progress) -> None:
        nonlocal logged
        if console.is_terminal:
            first = began.setdefault(progress.stage, (progress.seconds, progress.share))
            live.start()
            live.update(_picture(progress, _left(progress, *first)))
        elif time.monotonic() - logged > LOG_SECONDS:
            logged = time.monotonic()
            say(_line(progress))

    try:
        yield watch
    except StoppedError as stopped:
        raise StoppedError(how_to_go_on(stopped, folder)) from None
    finally:
        live.stop()


def _line(p: Progress) -> str:
    best = f", best {p.best:.4f}" if p.best else ""
    entropy = "" if p.entropy is None else f", entropy {p.entropy:.3f}"
    return f"{p.stage}: {p.share:.0%}, {p.tried:,} functions tried{best}{entropy}, {_clock(p.seconds)}"


def _left(p: Progress, seconds: float, share: float) -> float:
    """Seconds that the stage will still take, at its pace since it was first seen there."""
    done = p.share - share
    return (p.seconds - seconds) / done * (1.0 - p.share) if done > 0.01 else math.nan


def _picture(p: Progress, left: float) -> RenderableType:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column()
    grid.add_column(ratio=1)
    grid.add_column(justify="right")
    eta = "" if math.isnan(left) else f" · {_clock(left)} left"
    grid.add_row(p.stage, ProgressBar(total=1.0, completed=p.share), f"{_clock(p.seconds)}{eta}")
    facts = [f"tried {p.tried:,}"]
    facts += [f"best {p.best:.4f}"] if p.best else []
    facts += [f"entropy {p.entropy:.3f}"] if p.entropy is not None else []
    parts: list[RenderableType] = [grid, Text("  ".join(facts), style="dim")]
    if p.function is not None:
        parts.append(Padding(structures(p.function), (0, 0, 0, 2)))
    return Group(*parts)


def structures(function: ScoringFunction) -> RenderableType:
    """The matrices side by side, each under its group's number and size."""
    blocks = []
    for number, structure in enumerate(function.structures):
        relations = function.relations_of(number)
        noun = "relation" if len(relations) == 1 else "relations"
        size = f" · {len(relations)} {noun}" if len(function.structures) > 1 else ""
        blocks.append(Group(Text(f"group {number + 1}{size}", style="bold"), Text(structure.to_text())))
    return Columns(blocks, padding=(0, 4))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
