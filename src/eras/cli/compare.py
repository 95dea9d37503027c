"""`eras compare`: what each way of searching finds, in the same time."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from eras.cli.common import (
    Json,
    Overwrite,
    console,
    emit_json,
    examples,
    plain_table,
    say,
    seconds_of,
    show_graph,
)
from eras.cli.source import Source, with_source_options

if TYPE_CHECKING:
    from eras.api import Comparison
    from eras.search.result import Progress

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HELP = (
    "Search a graph with several methods, one after the other, each for the same time and with the same training; draw "
    "what each held for the best as time went by.\n\n"
    "`eras search --help` lists the methods. The same command goes on with a comparison that was stopped."
)
EXAMPLES = examples(
    "eras compare umls --time 2m --out runs/umls-compare",
    "eras compare triples.tsv --methods autosf,random,eras --groups 3 --time 20m",
)


def compare(
    source: Source,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            "-m",
            help="Names with commas between them; evolution, autosf, random, bayes (with Optuna), eras, eras-n1 if not "
            "given.",
        ),
    ] = None,
    time: Annotated[str, typer.Option("--time", "-t", metavar="TIME", help="For each method: 90s, 20m.")] = "5m",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder; runs/DATA-compare if not given.")] = None,
    overwrite: Overwrite = False,
    groups: Annotated[
        int | None, typer.Option("--groups", help="N for all methods; each one's usual number if not given.")
    ] = None,
    blocks: Annotated[int, typer.Option("--blocks", help="M: blocks of an embedding, 2 to 6.")] = 4,
    dim: Annotated[int | None, typer.Option("--dim", min=1, help="Dimension of trials and supernets.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides everything that is random.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Trials side by side; all cores if not given.")
    ] = None,
    as_json: Json = False,
) -> None:
    from eras import api

    seconds = seconds_of(time)
    assert seconds is not None, "there is always a time"
    graph = source.read()
    show_graph(graph)
    folder = out or Path("runs") / f"{graph.name}-compare"
    with comparison_view(folder) as (watch, on_method):
        comparison = api.compare(
            graph,
            None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            seconds=seconds,
            out=folder,
            overwrite=overwrite,
            groups=groups,
            blocks=blocks,
            dim=dim,
            seed=seed,
            workers=workers,
            watch=watch,
            on_method=on_method,
            command=shlex.join(["eras", *sys.argv[1:]]),
        )
    show_comparison(comparison, as_json)


@contextlib.contextmanager
def comparison_view(folder: Path) -> Iterator[tuple[Callable[[Progress], None], Callable[[str, int, int], None]]]:
    """A live view for each search in turn."""
    from eras.cli.live import search_view

    with contextlib.ExitStack() as view:
        watchers: list[Callable[[Progress], None]] = []

        def on_method(method: str, number: int, total: int) -> None:
            view.close()
            say(f"[bold]{method}[/] ({number} of {total})" if method else "[bold]Train what was found[/]")
            watchers.append(view.enter_context(search_view(folder)))

        yield lambda progress: watchers[-1](progress), on_method


def show_comparison(comparison: Comparison, as_json: bool) -> None:
    """What `compare` and `resume` print at the end."""
    settings = comparison.settings
    table = plain_table("method", numbers=("groups", "tried", "seconds", "short", "full"))
    for method, row in sorted(comparison.rows.items(), key=lambda item: -item[1]["full_mrr"]):
        figures = f"{row['groups']}", f"{row['tried']:,}", f"{row['seconds']:.0f}"
        table.add_row(method, *figures, f"{row['short_mrr']:.4f}", f"{row['full_mrr']:.4f}")
    console.print(table)
    say(
        f"(selection MRR of what was found: short is after {settings['trial_epochs']} epochs, full after at most "
        f"{settings['full_epochs']}, dim {settings['dim']})"
    )
    folder = escape(str(comparison.folder))
    say(f"comparison.svg, comparison.json and a folder for each method are in [bold]{folder}[/].")
    if as_json:
        emit_json({"folder": str(comparison.folder), **comparison.to_json()})


app.command(help=HELP, epilog=EXAMPLES)(with_source_options(compare))
