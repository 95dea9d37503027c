"""Which triples a verb works on, and how they are read: the argument and the options that many verbs share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eras.errors import UsageError

if TYPE_CHECKING:
    from eras.graph import Graph

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file or folder of triples, or the name of a data set.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="H,R,T", help="Head, relation and tail column, by name or by number from 1."),
]
Labels = Annotated[
    Path | None, typer.Option("--labels", metavar="FILE", help="Labels for the names: lines of id, tab, label.")
]
Holdout = Annotated[
    str,
    typer.Option(
        "--holdout",
        metavar="V,T",
        help="Shares to hold out for validation and test, where the source has no such split.",
    ),
]
SplitSeed = Annotated[int, typer.Option("--split-seed", min=0, help="Decides which triples are held out.")]


@dataclass(frozen=True)
class Source:
    data: Data
    columns: Columns = None
    labels: Labels = None
    holdout: Holdout = "0.1,0.1"
    split_seed: SplitSeed = 0

    def read(self) -> Graph:
        """The graph, downloaded with a progress bar where that is needed."""
        from eras.cli.progress import DownloadBars
        from eras.graph import load_graph
        from eras.graph.layout import parse_columns

        chosen = None if self.columns is None else parse_columns(self.columns)
        shares = _shares(self.holdout)
        with DownloadBars() as bars:
            return load_graph(
                self.data, columns=chosen, labels=self.labels, seed=self.split_seed, holdout=shares, progress=bars
            )


def with_source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the first parameter of a command, its `Source`, by DATA and the options that say how to read it."""
    (data, *options) = inspect.signature(Source, eval_str=True).parameters.values()
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    rest = [p for p in own if p.kind is p.VAR_KEYWORD]
    named = [*(p for p in own if p not in rest), *options]

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        source = Source(**{name: values.pop(name) for name in (data.name, *(p.name for p in options))})
        command(source, **values)

    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in named]
    wrapped.__signature__ = inspect.Signature([data, *keywords, *rest])  # type: ignore[attr-defined]  # read by typer
    wrapped.__annotations__ = {p.name: p.annotation for p in (data, *keywords)}
    return wrapped


def _shares(holdout: str) -> tuple[float, float]:
    try:
        valid, test = map(float, holdout.split(","))
    except ValueError:
        raise UsageError(f"--holdout {holdout!r}: expected two shares, such as 0.1,0.1") from None
    return valid, test
