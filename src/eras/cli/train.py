"""`eras train`: one scoring function, one graph, one run folder."""

from __future__ import annotations

import inspect
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import Columns, Data, Json, Labels, emit_json, read_graph, say, show_metrics, show_notes
from eras.training.config import TrainConfig, read_settings

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


def _setting_options() -> list[inspect.Parameter]:
    """One option for each field of `TrainConfig`; None means: not given."""
    options = []
    for name, field in TrainConfig.model_fields.items():
        flag = name.replace("_", "-")
        kind: Any = field.annotation
        names = [f"--{flag}/--no-{flag}"] if kind is bool else [f"--{flag}"]
        if kind not in (bool, int, float):
            kind = str
        option = typer.Option(*names, help=field.description, rich_help_panel="Settings", show_default=False)
        annotation = Annotated[kind | None, option]
        options.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return options


def train(
    data: Data,
    function: Annotated[
        str, typer.Option("--function", "-f", help="A name, a structure such as '1 2 / -2 1', or a file.")
    ] = "complex",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run folder; runs/DATA-FUNCTION if not given.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A TOML file of settings; options override it.")
    ] = None,
    columns: Columns = None,
    labels: Labels = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    """Train a scoring function on a graph; the run folder becomes a model directory.

    Settings that are not given are chosen from the graph's size and printed. Ctrl-C ends after the step at hand and
    saves; [bold]eras resume RUN[/] goes on, also after a kill, to the same result.
    """
    from eras import api
    from eras.cli.progress import training_bar
    from eras.scoring import load_function
    from eras.training import recommend

    given = read_settings(config) if config else {}
    given |= {name: value for name, value in settings.items() if value is not None}
    scoring = load_function(function)
    TrainConfig().updated(**given)
    graph = read_graph(data, columns, labels, seed=given.get("seed", 0))
    chosen = recommend(graph.training_view(), scoring.blocks).updated(**given)
    folder = out or Path("runs") / f"{graph.name}-{scoring.name or 'function'}"
    say(
        f"[bold]{escape(graph.name)}[/]: {len(graph.entities):,} entities, {len(graph.relations):,} relations, "
        f"{len(graph.train):,} / {len(graph.valid):,} / {len(graph.test):,} triples"
    )
    show_notes([*graph.notes, *(s for structure in scoring.structures for s in structure.degeneracies())])
    say(_settings_line(chosen, given))
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


def show_result(model: Any, as_json: bool) -> None:
    """What `train` and `resume` print at the end."""
    show_metrics(*(model.metrics[split] for split in ("valid", "test") if split in model.metrics))
    say(f"Model and card are in [bold]{model.folder}[/]. Next: eras predict {model.folder} --head … --relation …")
    if as_json:
        emit_json({"folder": str(model.folder), "function": model.function.name, **model.metrics})


def _settings_line(chosen: TrainConfig, given: dict[str, Any]) -> str:
    shown = ("dim", "epochs", "batch_size", "optimizer", "lr", "regulariser", "reg_weight", "reciprocal")
    names = [*shown, *(name for name in given if name not in shown)]
    parts = [f"{name} [bold]{getattr(chosen, name)}[/]" + ("" if name in given else "*") for name in names]
    return "Settings (* chosen for this graph): " + ", ".join(parts)


def _with_setting_options(command: Any) -> Any:
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "settings"]
    options = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own[1:]]
    command.__signature__ = inspect.Signature([own[0], *options, *_setting_options()])
    command.__annotations__ = {p.name: p.annotation for p in command.__signature__.parameters.values()}
    return command


app.command(
    epilog="Examples: [bold]eras train umls --function complex --out runs/umls[/] · "
    "[bold]eras train triples.tsv.gz --columns subject,predicate,object --labels names.tsv[/] · "
    "[bold]eras train fb15k237 -f my-structure.txt --dim 512 --epochs 100 --regulariser dura[/]"
)(_with_setting_options(train))
