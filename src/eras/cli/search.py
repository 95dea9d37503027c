"""`eras search`: find a scoring function for a graph."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import (
    Json,
    Overwrite,
    Time,
    console,
    emit_json,
    examples,
    say,
    seconds_of,
    show_graph,
)
from eras.cli.settings import with_setting_options
from eras.cli.source import Source, with_source_options
from eras.search.config import METHODS, SearchConfig

if TYPE_CHECKING:
    from eras.api import SearchResult

app = typer.Typer(rich_markup_mode=None, add_completion=False)


def _method_lines() -> Iterator[str]:
    """A line or two for each method, within 78 columns."""
    for name, method in METHODS.items():
        yield textwrap.fill(method.summary, 76, initial_indent=f"  {name:<18} ", subsequent_indent=" " * 21)


HELP = (
    "Search the scoring function that fits a graph: groups of relations, and a block structure for each.\n\n"
    "Writes function.json, its picture, curves, a journal and a summary; the same command goes on with a search that "
    "was stopped. `eras fit` does this and trains the result; the methods are:\n\n\b\n" + "\n".join(_method_lines())
)
EXAMPLES = examples(
    "eras search umls --time 1m --out runs/umls-search",
    "eras search umls --method eras --groups 3 --blocks 4",
    "eras train umls --function runs/umls-search/function.json",
)
_FIXED = ("strategy", "estimator", "measure", "evolving", "training", "seconds")
"""Settings that a method's name decides, or that have an option of their own."""


def search(
    source: Source,
    method: Annotated[str, typer.Option("--method", "-m", help="Which searcher; see above.")] = "evolution",
    time: Time = None,
    dim: Annotated[int | None, typer.Option("--dim", min=1, help="Dimension of trials and supernet.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Trials side by side; all cores if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder; runs/DATA-METHOD if not given.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    **settings: Any,
) -> None:
    from eras import api
    from eras.cli.live import search_view
    from eras.search.config import method_config

    given = {name: value for name, value in settings.items() if value is not None}
    given |= {"seconds": seconds_of(time)} if time else {}
    method_config(method, **given)
    graph = source.read()
    show_graph(graph)
    folder = out or Path("runs") / f"{graph.name}-{method}"
    with search_view(folder) as watch:
        result = api.search_function(
            graph,
            method,
            out=folder,
            overwrite=overwrite,
            workers=workers,
            watch=watch,
            command=shlex.join(["eras", *sys.argv[1:]]),
            **given,
            **({"dim": dim} if dim else {}),
        )
    show_search(result, source.data, as_json)


def show_search(result: SearchResult, data: str, as_json: bool) -> None:
    """What `search` and `resume` print at the end."""
    from eras.cli.live import structures
    from eras.search.start import known_name

    used = len(set(result.function.groups.values())) or 1
    say(
        f"Tried {result.tried:,} functions in {result.seconds:.0f} s. The best one has "
        f"{'one structure for all relations' if used == 1 else f'{used} groups of relations'} "
        f"(reward {result.reward:.4f}):"
    )
    console.print(structures(result.function))
    if name := known_name(result.function):
        say(f"This is {name}, a function known by name: the search found nothing better.")
    if (agreement := result.about.get("predictor_correlation")) is not None:
        say(f"The predictor's rank correlation with measured MRR was {agreement:.2f} (Spearman, five folds).")
    folder = escape(str(result.folder))
    say(
        f"function.json, function.svg, curves.svg, search.jsonl and summary.json are in [bold]{folder}[/].\n"
        f"Next: eras train {escape(data)} --function {folder}/function.json"
    )
    if as_json:
        emit_json({"folder": str(result.folder), **result.to_json()})


app.command(help=HELP, epilog=EXAMPLES)(with_setting_options(with_source_options(search), SearchConfig, _FIXED))
