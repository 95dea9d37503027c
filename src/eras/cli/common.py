"""What every verb shares: where output goes, common options, the progress of long work.

Results for people and progress go to standard error; standard output carries JSON alone.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from eras.graph import Graph
    from eras.training import Report

console = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Write JSON to standard output.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder or model directory.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Head, relation and tail column: three names or 1-based numbers, with commas."),
]
Labels = Annotated[Path | None, typer.Option("--labels", help="A file of id<TAB>label lines, to see names.")]


def emit_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def say(text: str) -> None:
    """One line for a person, on standard error; markup allowed."""
    console.print(text)


def load_graph_or_explain(data: str, **options: Any) -> Graph:
    """Load a graph and say what it is, with the notes that reading left."""
    from eras.graph import load_graph

    with console.status(f"Reading {data}"):
        graph = load_graph(data, **options)
    say(
        f"[bold]{graph.name}[/]: {len(graph.entities):,} entities, {len(graph.relations):,} relations, "
        f"{len(graph.train):,} / {len(graph.valid):,} / {len(graph.test):,} triples"
    )
    for note in graph.notes:
        say(f"[yellow]note:[/] {note}")
    return graph


def show_metrics(*evaluations: dict[str, Any]) -> None:
    from rich.table import Table

    from eras.evaluation import METRICS

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("split")
    for metric in METRICS:
        table.add_column(metric, justify="right")
    for evaluation in evaluations:
        cells = (f"{evaluation[m]:.1f}" if m == "mr" else f"{evaluation[m]:.4f}" for m in METRICS)
        table.add_row(evaluation["split"], *cells)
    console.print(table)


@contextlib.contextmanager
def training_bar(folder: Path) -> Iterator[Callable[[Report], None]]:
    """A bar with epoch, loss, validation MRR and time left; on Ctrl-C it says how to go on."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from eras.errors import StoppedError

    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(bar_width=None),
        TextColumn("loss {task.fields[loss]}  MRR {task.fields[mrr]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("train", total=None, epoch="1", loss="–", mrr="–")

        def on_step(report: Report) -> None:
            progress.update(
                task,
                total=report.epochs * report.steps,
                completed=(report.epoch - 1) * report.steps + report.step,
                epoch=f"{report.epoch}/{report.epochs}",
                loss=f"{report.loss:.3f}",
                mrr="–" if report.mrr is None else f"{report.mrr:.4f} (best {report.best_mrr:.4f})",
            )

        try:
            yield on_step
        except StoppedError as stopped:
            progress.stop()
            raise StoppedError(f"{stopped}. Go on with: eras resume {folder}") from None
