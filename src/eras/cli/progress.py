"""The progress of long work, on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from eras.cli.common import console, how_to_go_on
from eras.errors import StoppedError

if TYPE_CHECKING:
    from eras.training import Report


class DownloadBars(Progress):
    """A bar for each file being downloaded; nothing at all is shown where nothing is."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        super().__init__(*columns, console=console)
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            self.stop()

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if not self._bars:
            self.start()
        if name not in self._bars:
            self._bars[name] = self.add_task(name)
        self.update(self._bars[name], completed=done, total=total)


@contextlib.contextmanager
def training_bar(folder: Path) -> Iterator[Callable[[Report], None]]:
    """A bar with epoch, loss, selection MRR and time left; on Ctrl-C it says how to go on."""
    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(bar_width=None),
        TextColumn("loss {task.fields[loss]}  selection MRR {task.fields[mrr]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=console, speed_estimate_period=300)
    task: TaskID | None = None

    def on_step(report: Report) -> None:
        nonlocal task
        if task is None:
            progress.start()
            task = progress.add_task("train", epoch="", loss="", mrr="")
        progress.update(
            task,
            total=report.epochs * report.steps,
            completed=(report.epoch - 1) * report.steps + report.step,
            epoch=f"{report.epoch}/{report.epochs}",
            loss=f"{report.loss:.3f}",
            mrr="–" if report.mrr is None else f"{report.mrr:.4f}",
        )

    try:
        yield on_step
    except StoppedError as stopped:
        raise StoppedError(how_to_go_on(stopped, folder)) from None
    finally:
        if task is not None:
            progress.stop()


@contextlib.contextmanager
def percentage(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work of a known size, with the time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
