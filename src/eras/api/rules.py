"""`learn_rules`: rules of a graph, learned and judged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eras.api.interrupt import graceful_interrupt
from eras.errors import DataError, StoppedError
from eras.files import read_json, write_json, write_text
from eras.graph import Graph, load_graph, read_graph, write_graph
from eras.report.card import rules_card
from eras.rules.config import RuleConfig, recommend_rules
from eras.rules.learner import Learner, RuleProgress
from eras.store.directory import claim, finish, going_on, read_manifest, working_in, write_manifest
from eras.store.rules import RuleModel
from eras.training.config import TrainConfig

OnProgress = Callable[[RuleProgress], None]


def learn_rules(
    graph: Graph | str | Path,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    on_progress: OnProgress = lambda progress: None,
    command: str | None = None,
    **settings: Any,
) -> RuleModel:
    """Learn rules from the training facts of a graph, and judge them on validation and test.

    Args:
        graph: a `Graph`, or anything `load_graph` takes.
        out: the folder for rules, figures and card; learning that was stopped there goes on.
        overwrite: replace what is in `out` instead.
        threads: all cores if not given. Does not change the rules.
        on_progress: called with a `RuleProgress` after each round.
        settings: `seconds`, `length` and the other fields of `RuleConfig`; what is not given is chosen for the graph.
    """
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    if not len(graph.train):
        raise DataError(f"the graph {graph.name!r} has no training triples to learn rules from")
    if out is None:
        with tempfile.TemporaryDirectory(prefix="eras-") as temporary:
            model = learn_rules(
                graph, out=Path(temporary) / "rules", threads=threads, on_progress=on_progress, **settings
            )
            model.folder = None
            return model
    folder, config = Path(out), recommend_rules(graph.training_view(), **settings)
    if going_on(folder, "rules", graph, settings, overwrite) is None:
        claim(folder, overwrite)
        machine = TrainConfig().updated(threads=threads or os.cpu_count() or 1)
        write_manifest(folder, "rules", graph, machine, command, given=settings, threads=threads)
        write_json(folder / "config.json", config.model_dump())
        write_graph(graph, folder)
    return resume_rules(folder, on_progress=on_progress)


def resume_rules(folder: Path, *, on_progress: OnProgress = lambda progress: None) -> RuleModel:
    """Go on with learning that was stopped or killed; what has ended is just loaded."""
    manifest = read_manifest(folder)
    if manifest["status"] == "finished":
        return RuleModel.load(folder)
    graph = read_graph(folder)
    config = RuleConfig().updated(**read_json(folder / "config.json"))
    with working_in(folder), graceful_interrupt() as interrupted:
        learner = Learner(graph.training_view(), config, folder, manifest["threads"])
        rules = learner.run(on_progress, interrupted.is_set)
        if interrupted.is_set():
            raise StoppedError(f"stopped after round {learner.round}; all is saved")
        rules.save(folder)
        learning = {"rules": len(rules), "rounds": learner.round, "seconds": round(learner.seconds, 3)}
        model = RuleModel(rules, graph, config, {"learning": learning}, folder)
        for split in ("valid", "test"):
            if len(graph.split(split)):
                on_progress(RuleProgress(f"ranking {split}", 0.0, 0, len(rules), learner.seconds))
                model.metrics[split] = model.evaluate(split).to_json()
        write_json(folder / "metrics.json", model.metrics)
        write_text(folder / "README.md", rules_card(graph, rules, config, model.metrics, manifest))
        finish(folder)
        (folder / "checkpoint.safetensors").unlink(missing_ok=True)
    return model
