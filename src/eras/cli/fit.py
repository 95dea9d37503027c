"""`eras fit`: from triples to the best model, in one command."""

from __future__ import annotations

import contextlib
import shlex
import sys
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
    plain_table,
    say,
    seconds_of,
    show_graph,
    show_metrics,
    show_sampling,
)
from eras.cli.settings import with_setting_options
from eras.cli.source import Source, with_source_options
from eras.training.config import TrainConfig

if TYPE_CHECKING:
    from eras.api import Watchers
    from eras.api.fitting import FitPlan
    from eras.store import Model

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HELP = (
    "Find, train and judge the model that fits a graph best; the run folder becomes a model directory.\n\n"
    "Searches a relation-aware scoring function, trains it and the hand-designed ones (DistMult, ComplEx, SimplE, "
    "ANALOGY) with the same recipe, and keeps the best on validation. Ctrl-C loses nothing: the same command goes on."
)
EXAMPLES = examples(
    "eras fit umls --out runs/umls",
    "eras fit triples.tsv --time 10m --out runs/mine",
    "eras predict runs/mine --head HEAD --relation RELATION",
)


def fit(
    source: Source,
    time: Time = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The run folder; runs/DATA-fit if not given.")] = None,
    overwrite: Overwrite = False,
    groups: Annotated[int | None, typer.Option("--groups", help="N: groups of relations, at most.")] = None,
    blocks: Annotated[int, typer.Option("--blocks", help="M: blocks of an embedding, 2 to 6.")] = 4,
    as_json: Json = False,
    **settings: Any,
) -> None:
    from eras import api

    given = {name: value for name, value in settings.items() if value is not None}
    TrainConfig().updated(**given)
    seconds = seconds_of(time)
    graph = source.read()
    show_graph(graph)
    folder = out or Path("runs") / f"{graph.name}-fit"
    with fit_view(folder) as watchers:
        model = api.fit(
            graph,
            seconds=seconds,
            groups=groups,
            blocks=blocks,
            out=folder,
            overwrite=overwrite,
            watchers=watchers,
            command=shlex.join(["eras", *sys.argv[1:]]),
            **given,
        )
    show_fit(model, as_json)


@contextlib.contextmanager
def fit_view(folder: Path) -> Iterator[Watchers]:
    """Bars for the search and for each training, one after the other."""
    from eras.api import Watchers
    from eras.cli.live import search_view
    from eras.cli.progress import training_bar

    with contextlib.ExitStack() as view:
        watch = view.enter_context(search_view(folder))
        steps: list[Any] = []

        def on_plan(plan: FitPlan, config: TrainConfig) -> None:
            recipe = f"dim {config.dim}, lr {config.lr:g}, {config.regulariser} {config.reg_weight:g}"
            say(f"Plan: {plan.describe()}, {recipe}.")
            show_sampling(config)
            say("[bold]Search[/]")

        def on_training(name: str, number: int, total: int) -> None:
            view.close()
            say(f"[bold]Train {name}[/] ({number} of {total})")
            steps.append(view.enter_context(training_bar(folder)))

        yield Watchers(on_plan, watch, on_training, lambda report: steps[-1](report))


def show_fit(model: Model, as_json: bool) -> None:
    """What `fit` and `resume` print at the end."""
    story = model.metrics["fit"]
    table = plain_table("function", numbers=("selection MRR", "best epoch", "epochs", "seconds"))
    for name, result in sorted(story["candidates"].items(), key=lambda item: -item[1]["selection_mrr"]):
        figures = (f"{result['best_epoch']}", f"{result['epochs']}", f"{result['seconds']:.0f}")
        table.add_row(name, f"{result['selection_mrr']:.4f}", *figures)
    console.print(table)
    say("(on validation, filtered without the test facts; the figures below are filtered by all facts)")
    say(f"[bold]{escape(story['verdict'])}[/]")
    show_metrics(*(model.metrics[split] for split in ("valid", "test") if split in model.metrics))
    folder = escape(str(model.folder))
    say(f"Model and card are in [bold]{folder}[/]. Next: eras predict {folder} --head … --relation …")
    if as_json:
        emit_json({"folder": str(model.folder), **model.metrics})


app.command(help=HELP, epilog=EXAMPLES)(with_setting_options(with_source_options(fit), TrainConfig))
