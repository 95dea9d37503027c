"""`compare`: what each way of searching finds on a graph, in the same time and with the same training."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eras.api.interrupt import graceful_interrupt
from eras.api.searching import SearchResult, search_within
from eras.errors import SettingError, StoppedError
from eras.files import Journal, read_json, write_json
from eras.graph import Graph, load_graph, read_graph, write_graph
from eras.report.comparison import draw_comparison
from eras.scoring import ScoringFunction
from eras.search.config import METHODS, SearchConfig, method_config
from eras.search.estimators.standalone import FEW_VALID, StandAlone
from eras.search.plan import plan_search
from eras.search.race import Race
from eras.search.result import Watch
from eras.store.directory import claim, finish, going_on, read_manifest, working_in, write_manifest

POINTS = 12
"""Functions of a one-shot search, of those it held for the best in turn, that are trained to be drawn."""

UNSEEN = 100
"""The first of the replicas that judge what was found: seeds, and on small graphs deals, that no search has met."""

DEALS = 3
"""Full trainings that judge a function where validation triples are few, each on another deal of the facts."""

Curve = list[tuple[float, float]]
"""(seconds, selection MRR of what was held for the best by then), in the order of time."""


@dataclass(frozen=True)
class Comparison:
    """For each method what it found, how that does when trained in full, and how it got there."""

    rows: dict[str, dict[str, Any]]
    curves: dict[str, Curve]
    settings: dict[str, Any]
    folder: Path

    def to_json(self) -> dict[str, Any]:
        return {"settings": self.settings, "methods": self.rows, "curves": self.curves}


OnMethod = Callable[[str, int, int], None]


def compare(
    graph: Graph | str | Path,
    methods: Sequence[str] | None = None,
    *,
    seconds: float,
    out: str | Path,
    overwrite: bool = False,
    groups: int | None = None,
    blocks: int = 4,
    dim: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    watch: Watch = lambda progress: None,
    on_method: OnMethod = lambda method, number, total: None,
    command: str | None = None,
) -> Comparison:
    """Search with several methods, one after the other, each for `seconds`.

    All trials and supernets are trained with the same settings. Finals are held without hand-designed functions, so
    that what a method finds is its own. A comparison that was stopped goes on in its folder.

    Args:
        graph: a `Graph`, or anything `load_graph` takes.
        methods: names from `eras.search.config.METHODS`; evolution, AutoSF, random search, Bayes (where Optuna is
            installed), ERAS with groups and without if none are given.
        out: the folder for the searches, the figure and the table.
        groups: N for all methods; each method's own usual number if not given.
    """
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    folder = Path(out)
    methods = usual_methods() if methods is None else methods
    given = {
        "methods": list(methods),
        "seconds": seconds,
        "groups": groups,
        "blocks": blocks,
        "dim": dim,
        "seed": seed,
    }
    if going_on(folder, "compare", graph, given, overwrite) is None:
        configs = _plan(graph, methods, given, workers)
        claim(folder, overwrite)
        facts = {"given": given, "workers": workers, "searches": {m: c.model_dump() for m, c in configs.items()}}
        write_manifest(folder, "compare", graph, next(iter(configs.values())).training, command, **facts)
        write_graph(graph, folder)
    return resume_comparison(folder, watch=watch, on_method=on_method)


def usual_methods() -> list[str]:
    """The methods that are compared if none are named."""
    bayes = ["bayes"] if importlib.util.find_spec("optuna") else []
    return ["evolution", "autosf", "random", *bayes, "eras", "eras-n1"]


def resume_comparison(
    folder: Path, *, watch: Watch = lambda progress: None, on_method: OnMethod = lambda method, number, total: None
) -> Comparison:
    """Go on with a comparison that was stopped or killed; a finished one is just read."""
    manifest = read_manifest(folder)
    if manifest["status"] != "finished":
        with working_in(folder):
            _compare(folder, manifest, watch, on_method)
    found = read_json(folder / "comparison.json")
    curves = {method: [(seconds, mrr) for seconds, mrr in curve] for method, curve in found["curves"].items()}
    return Comparison(found["methods"], curves, found["settings"], folder)


def _plan(graph: Graph, methods: Sequence[str], given: dict[str, Any], workers: int | None) -> dict[str, SearchConfig]:
    """The settings of each search; how functions are trained is planned once, for all."""
    if not methods or len(set(methods)) < len(methods):
        raise SettingError("name at least one method to compare, and none of them twice")
    view = graph.training_view()
    same = {"seconds": given["seconds"], "blocks": given["blocks"], "seed": given["seed"], "rivals": False}
    sizes: dict[str, Any] = {} if given["groups"] is None else {"groups": given["groups"]}
    for method in methods:
        method_config(method)
    planned = plan_search(view, "evolution", dim=given["dim"], workers=workers, **same)
    trained = {
        key: getattr(planned, key) for key in ("trial_epochs", "most_epochs", "finalists", "promotions", "replicas")
    }
    configs = {}
    for method in methods:
        fixed: dict[str, Any] = {} if "groups" in METHODS[method].settings else sizes
        config = plan_search(view, method, dim=given["dim"], workers=workers, **same, **fixed, **trained)
        configs[method] = config.updated(training=planned.training.model_dump())
    return configs


def _compare(folder: Path, manifest: dict[str, Any], watch: Watch, on_method: OnMethod) -> None:
    graph, workers = read_graph(folder), manifest["workers"]
    configs = {method: SearchConfig().updated(**settings) for method, settings in manifest["searches"].items()}
    results: dict[str, SearchResult] = {}
    for number, (method, config) in enumerate(configs.items(), start=1):
        on_method(method, number, len(configs))
        results[method] = search_within(
            folder / method, graph, method, config, manifest["given"], workers, manifest["command"], watch
        )
    config = next(iter(configs.values()))
    on_method("", len(configs), len(configs))
    with graceful_interrupt() as interrupted:

        def stop_if_asked(function: ScoringFunction) -> None:
            if interrupted.is_set():
                raise StoppedError("stopped while the functions found were trained; all that ended is saved")

        estimator = StandAlone(graph.training_view(), config.training, workers)
        judge = Race(estimator, Journal(folder / "judged.jsonl"), stop_if_asked)
        functions = [result.function for result in results.values()]
        trainings = DEALS if len(graph.valid) < FEW_VALID else config.replicas
        trials = judge.measure(functions, config.most_epochs, range(UNSEEN, UNSEEN + trainings))
        full = np.reshape([trial.mrr for trial in trials], (trainings, -1)).mean(0).tolist()
        curves = {method: _curve(folder / method, result, judge, config) for method, result in results.items()}
    rows = {
        method: {
            "tried": result.tried,
            "seconds": round(result.seconds, 1),
            "groups": len(result.function.structures),
            "short_mrr": curves[method][-1][1],
            "full_mrr": mrr,
            "function": result.function.to_json(),
        }
        for (method, result), mrr in zip(results.items(), full, strict=True)
    }
    settings = {
        **manifest["given"],
        "graph": graph.name,
        "dim": config.training.dim,
        "trial_epochs": config.trial_epochs,
        "full_epochs": config.most_epochs,
        "full_trainings": trainings,
    }
    comparison = Comparison(rows, curves, settings, folder)
    draw_comparison(graph.name, curves, folder / "comparison.svg")
    write_json(folder / "comparison.json", comparison.to_json())
    finish(folder)


def _curve(folder: Path, result: SearchResult, judge: Race, config: SearchConfig) -> Curve:
    """What the method held for the best as time went by, each judged by a trial of the same length.

    Stand-alone searches have had these trials themselves. For one-shot searches they are made now, at no cost to the
    method; of many such functions, a dozen over the whole time.
    """
    journal = Journal(folder / "search.jsonl")
    held: dict[ScoringFunction, float] = {}
    for event in journal.events("incumbent"):
        held.setdefault(ScoringFunction.from_json(event["function"]), event["elapsed"])
    functions = _spread(list(held), POINTS)
    trials = judge.measure(functions, config.trial_epochs)
    curve = [(held[f], trial.mrr) for f, trial in zip(functions, trials, strict=True)]
    best = 0.0
    for event in journal.events("trial"):
        if event["epochs"] == config.trial_epochs and event["mrr"] > best:
            best = event["mrr"]
            curve.append((event["elapsed"], best))
    (last,) = judge.measure([result.function], config.trial_epochs)
    return [*sorted(curve), (round(result.seconds, 3), last.mrr)]


def _spread(items: Sequence[ScoringFunction], most: int) -> list[ScoringFunction]:
    """At most so many of the items, from the first to the last."""
    places: Iterable[int] = {round(i * (len(items) - 1) / max(1, most - 1)) for i in range(min(most, len(items)))}
    return [items[place] for place in sorted(places)]
