"""`train`, `resume` and `evaluate`: one function on one graph."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch

from eras.api.interrupt import graceful_interrupt
from eras.errors import DataError, SettingError, StoppedError
from eras.evaluation import Evaluation, Selection
from eras.graph import Graph, load_graph, read_graph
from eras.models import Architecture, Function, KnowledgeModel, build_model, to_function
from eras.models.multiply import multiplies_bfloat16
from eras.report import model_card
from eras.scoring import ScoringFunction, Structure
from eras.store import Model, Predictor, claim, load_model, write_model
from eras.store.directory import read_config, read_function, read_manifest, start, working_in
from eras.store.judging import Source, measure_calibration
from eras.store.rounding import round_tables
from eras.training import Report, TrainConfig, Trainer, recommend

OnStep = Callable[[Report], None]


def train(
    graph: Graph | str | Path,
    function: Function | Structure | str | Path = "complex",
    *,
    config: TrainConfig | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    on_step: OnStep = lambda report: None,
    command: str | None = None,
    **settings: Any,
) -> Model:
    """Train a scoring function on a graph, judge it on validation and test, and return the model.

    Args:
        graph: a `Graph`, or anything `load_graph` takes.
        function: a name (`"complex"`, `"rotate"`), a structure (`"1 2 / -2 1"`), a file, or the object itself.
        config: all settings; without it they are chosen from the graph's size, see `eras.training.recommend`.
        out: the run folder, which becomes the model directory; without it the model lives in memory only.
        overwrite: replace a run that is in `out` already.
        on_step: called with a `Report` after each step, or several short ones, and after each validation.
        settings: fields of `TrainConfig` that override the others, such as `dim=512`.
    """
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    function = to_function(function)
    TrainConfig().updated(**settings)
    base = config or recommended(graph, function, **settings)
    config = resolved(base.updated(**settings))
    _check(graph, function, config)
    if out is None:
        with tempfile.TemporaryDirectory(prefix="eras-") as temporary:
            start(Path(temporary), graph, function, config, command)
            model = _run(Path(temporary), graph, function, config, on_step)
            model.folder = None
            return model
    folder = Path(out)
    claim(folder, overwrite)
    start(folder, graph, function, config, command)
    return _run(folder, graph, function, config, on_step)


def resume_training(folder: Path, *, on_step: OnStep = lambda report: None) -> Model:
    """Go on with a run that was stopped or killed; a finished run is just loaded."""
    if read_manifest(folder).get("status") == "finished":
        return Model.load(folder)
    graph, function, config = read_graph(folder), read_function(folder), read_config(folder)
    return _run(folder, graph, function, config, on_step)


def evaluate(model: Predictor | str | Path, split: Literal["valid", "test"] = "test", **options: Any) -> Evaluation:
    """Rank a split of the graph of a model, or of rules; see `Evaluation` for metrics and breakdowns."""
    model = model if isinstance(model, Predictor) else load_model(model)
    return model.evaluate(split, **options)


def recommended(graph: Graph, function: Function, **given: Any) -> TrainConfig:
    """Settings for a function on a graph; what is `given` stands."""
    name = function.name if isinstance(function, Architecture) else None
    return recommend(graph.training_view(), function.blocks, name, **given)


def resolved(config: TrainConfig) -> TrainConfig:
    """Settle what depends on the machine, so that a resumed run computes the same bits."""
    try:
        device = torch.device(config.device)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(f"device {config.device!r} cannot be used here: {str(error).splitlines()[0]}") from error
    if config.precision == "bfloat16" and device.type == "cpu" and not multiplies_bfloat16():
        raise SettingError(
            "precision bfloat16 needs a processor with AVX-512 BF16 or AMX, which this is not: leave it out"
        )
    return config.updated(threads=config.threads or torch.get_num_threads())


def _check(graph: Graph, function: Function, config: TrainConfig) -> None:
    """Refuse what cannot be trained, before anything is written."""
    if not len(graph.valid):
        raise DataError(f"the graph {graph.name!r} has no validation triples: add some, or hold some out")
    if isinstance(function, ScoringFunction):
        if config.loss != "softmax":
            raise SettingError(
                f"loss {config.loss} is for models such as transe: block structures are trained by softmax"
            )
    else:
        for setting, used in (
            ("regulariser dura", config.regulariser == "dura"),
            ("relation_weight", config.relation_weight > 0),
            ("precision bfloat16", config.precision == "bfloat16"),
        ):
            if used:
                raise SettingError(f"{setting} is for block structures, not for {function.name}")
    build_model(function, graph.relations.names.to_list(), 1, config.dim, reciprocal=config.reciprocal)


def _run(folder: Path, graph: Graph, function: Function, config: TrainConfig, on_step: OnStep) -> Model:
    with working_in(folder):
        scorer, training = run_training(folder, graph, function, config, on_step)
        return judged(folder, graph, scorer, function, config, {"training": training})


def run_training(
    folder: Path, graph: Graph, function: Function, config: TrainConfig, on_step: OnStep
) -> tuple[KnowledgeModel, dict[str, Any]]:
    """Train in `folder`, or go on there; the model of the best epoch, and how it came about. Sees no test triple."""
    view = graph.training_view()
    trainer = Trainer(view, function, config, folder, Selection.of(view, config.memory_mb).mrr)
    with graceful_interrupt() as interrupted:
        scorer = trainer.run(on_step, interrupted.is_set)
        if interrupted.is_set():
            raise StoppedError("stopped after the last epoch; all is saved")
    return scorer, {
        "best_epoch": trainer.progress.best_epoch + 1,
        "epochs": trainer.progress.epoch,
        "seconds": round(trainer.progress.seconds, 3),
        "selection_mrr": trainer.progress.best_mrr,
    }


def judged(
    folder: Path,
    graph: Graph,
    scorer: KnowledgeModel,
    function: Function,
    config: TrainConfig,
    metrics: dict[str, Any],
) -> Model:
    """Rank validation and test, and write the model directory; what is judged is the model as it will be stored."""
    round_tables(scorer, config)
    model = Model(scorer, function, graph, config, metrics, folder)
    for split in ("valid", "test"):
        if len(graph.split(split)):
            metrics[split] = model.evaluate(split).to_json()
    metrics["calibration"] = _calibrated(model)
    scorer.to("cpu")
    write_model(folder, scorer, config, metrics, model_card(graph, function, config, metrics, read_manifest(folder)))
    return model


def _calibrated(model: Model) -> dict[str, Any] | None:
    """Fit probabilities on validation and judge them on test, without the bins; None where that cannot be done."""
    try:
        calibrated = model.calibrate()
    except DataError:
        return None
    try:
        measured = measure_calibration(model, calibrated, Source.of(model.graph, "test"))
    except DataError:
        return calibrated.about
    kinds = {kind: {k: v for k, v in measured[kind].items() if k != "bins"} for kind in ("before", "after", "first")}
    return {**calibrated.about, "judged_on": measured["judged_on"], **kinds}
