"""What every verb shares: where output goes, common options, tables, reading a graph.

Results for people and progress go to standard error; standard output carries JSON alone.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eras.errors import UsageError

if TYPE_CHECKING:
    from eras.graph import Graph, Vocabulary
    from eras.training import TrainConfig

console = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Write JSON to standard output.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder or model directory.")]
Time = Annotated[
    str | None, typer.Option("--time", "-t", metavar="TIME", help="About how long it may take: 90s, 5m, 1h30m.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is in the folder.")]


def examples(*commands: str) -> str:
    """The foot of a help text."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])


def emit_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def say(text: str) -> None:
    """One line for a person, on standard error; markup allowed."""
    console.print(text, soft_wrap=True)


class _Notices(logging.Handler):
    """What the library has to say: it does not print by itself."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def show_notices() -> None:
    logger = logging.getLogger("eras")
    logger.setLevel(logging.INFO)
    logger.addHandler(_Notices())


def plain_table(*texts: str, numbers: tuple[str, ...] = ()) -> Table:
    """A table without lines: columns of text, which fold, then right-aligned columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def display(vocabulary: Vocabulary, name: str) -> str:
    """A name as people read it, its label before it where it has one; safe in markup."""
    label = vocabulary.label(vocabulary.id(name))
    return escape(name if label == name else f"{label} ({name})")


def show_graph(graph: Graph) -> None:
    """One line on the graph's size, and what was done while reading it."""
    say(
        f"[bold]{escape(graph.name)}[/]: {len(graph.entities):,} entities, {len(graph.relations):,} relations, "
        f"{len(graph.train):,} / {len(graph.valid):,} / {len(graph.test):,} triples"
    )
    show_notes(graph.notes)


def show_sampling(config: TrainConfig) -> None:
    """Say so where answers are compared with a sample of the entities only."""
    if config.negatives:
        rest = f", and with all in the last epochs ({config.full_epochs})" if config.full_epochs else ""
        say(
            f"The graph has many entities: a step compares its answers with {config.negatives:,} sampled ones{rest}. "
            "--negatives 0 compares all throughout."
        )


def how_to_go_on(stopped: Exception, folder: Path) -> str:
    """What to say about work that was stopped, with the command that goes on where something was begun."""
    begun = (folder / "manifest.json").exists()
    return f"{stopped}. Go on with: eras resume {folder}" if begun else str(stopped)


def seconds_of(duration: str | None, option: str = "--time") -> float | None:
    """`90`, `90s`, `5m`, `1h` or `1h30m` in seconds."""
    if duration is None:
        return None
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", duration.strip().lower())
    hours, minutes, seconds = (float(part or 0) for part in match.groups()) if match else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise UsageError(f"{option} {duration!r}: expected a duration such as 90s, 5m or 1h30m")
    return total


def show_notes(notes: tuple[str, ...] | list[str]) -> None:
    for note in notes:
        say(f"[yellow]note:[/] {escape(note)}")


def show_metrics(*evaluations: dict[str, Any], by_run: bool = False) -> None:
    """A row for each split, or for each run and split."""
    from eras.evaluation import METRICS

    texts = ("run", "split") if by_run else ("split",)
    table = plain_table(*texts, numbers=METRICS)
    for evaluation in evaluations:
        cells = (f"{evaluation[m]:.1f}" if m == "mr" else f"{evaluation[m]:.4f}" for m in METRICS)
        table.add_row(*(escape(evaluation[name]) for name in texts), *cells)
    console.print(table)
