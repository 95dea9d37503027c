"""`eras train`: one scoring function, one graph, one run folder."""

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import (
    Json,
    emit_json,
    examples,
    say,
    show_graph,
    show_metrics,
    show_notes,
    show_sampling,
)
from eras.cli.settings import with_setting_options
from eras.cli.source import Source, with_source_options
from eras.training.config import TrainConfig, read_settings

if TYPE_CHECKING:
    from eras.graph import Graph
    from eras.models import Function
    from eras.store import Model

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HELP = (
    "Train a scoring function on a graph; the run folder becomes a model directory.\n\n"
    "Settings that are not given are chosen from the graph's size and shape, and printed. Ctrl-C ends after the step "
    "at hand and saves; `eras resume RUN` goes on, also after a kill, to the same result."
)
EXAMPLES = examples(
    "eras train umls --function complex --out runs/umls",
    "eras train triples.tsv.gz --columns subject,predicate,object --labels names.tsv",
    "eras train fb15k237 -f my-structure.txt --dim 512 --regulariser dura",
)


def train(
    source: Source,
    function: Annotated[
        str,
        typer.Option(
            "--function", "-f", help="A name, a structure such as '1 2 / -2 1', a model such as rotate, or a file."
        ),
    ] = "complex",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run folder; runs/DATA-FUNCTION if not given.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A TOML file of settings; options override it.")
    ] = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    from eras import api
    from eras.api.training import recommended
    from eras.cli.progress import training_bar
    from eras.models import to_function
    from eras.store.directory import refuse_taken

    given = read_settings(config) if config else {}
    given |= {name: value for name, value in settings.items() if value is not None}
    TrainConfig().updated(**given)
    scoring = to_function(function)
    if out:
        refuse_taken(out, overwrite)
    graph = source.read()
    folder = out or Path("runs") / f"{graph.name}-{_short_name(scoring)}"
    refuse_taken(folder, overwrite)
    chosen = recommended(graph, scoring, **given)
    _introduce(graph, scoring, chosen, given)
    with training_bar(folder) as on_step:
        model = api.train(
            graph,
            scoring,
            config=chosen,
            out=folder,
            overwrite=overwrite,
            on_step=on_step,
            command=shlex.join(["eras", *sys.argv[1:]]),
        )
    show_result(model, as_json)


def show_result(model: Model, as_json: bool) -> None:
    """What `train` and `resume` print at the end."""
    training = model.metrics["training"]
    early = "" if training["epochs"] == model.config.epochs else ", where validation had long been no better"
    say(
        f"Kept epoch {training['best_epoch']}, the best on validation; stopped after epoch {training['epochs']}{early}."
    )
    show_metrics(*(model.metrics[split] for split in ("valid", "test") if split in model.metrics))
    folder = escape(str(model.folder))
    say(f"Model and card are in [bold]{folder}[/]. Next: eras predict {folder} --head … --relation …")
    if as_json:
        emit_json({"folder": str(model.folder), "function": model.function.name, **model.metrics})


def _introduce(graph: Graph, function: Function, chosen: TrainConfig, given: dict[str, Any]) -> None:
    """Say what is about to be trained, on what, with which settings, and what looks odd about it."""
    from eras.scoring import ScoringFunction

    show_graph(graph)
    if isinstance(function, ScoringFunction):
        strangers = sorted(set(function.groups) - set(graph.relations.names))
        lacking = f"the grouping names relations that the graph lacks: {', '.join(strangers[:5])}"
        notes = [sentence for structure in function.structures for sentence in structure.degeneracies()]
        show_notes([*notes, *([lacking] if strangers else [])])
    other = [] if isinstance(function, ScoringFunction) else ["loss"]
    penalty = ["regulariser", *(["reg_weight"] if chosen.regulariser != "none" else [])]
    sample = ["negatives", "full_epochs"] if chosen.negatives else []
    shown = ["dim", "epochs", "batch_size", *sample, *other, "optimiser", "lr", *penalty, "validate_every"]
    names = [*shown, *(name for name in given if name not in shown)]
    parts = [f"{name} [bold]{getattr(chosen, name)}[/]" + ("" if name in given else "*") for name in names]
    say("Settings (* chosen for this graph): " + ", ".join(parts))
    if "negatives" not in given:
        show_sampling(chosen)


def _short_name(function: Function) -> str:
    from eras.models import Architecture

    if function.name:
        return function.name
    assert not isinstance(function, Architecture), "a model has a name"
    cells = repr([structure.cells for structure in function.structures])
    return f"{function.blocks}-blocks-{hashlib.sha256(cells.encode()).hexdigest()[:6]}"


app.command(help=HELP, epilog=EXAMPLES)(with_setting_options(with_source_options(train), TrainConfig))
