"""`fit`: from a graph to the best model in the time given; search, train, judge.

The function found and the hand-designed ones are trained with the same recipe, and the best on validation is kept. So
the result is never worse on validation than the best hand-designed function that was trained.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eras.api.searching import search_within
from eras.api.training import judged, resolved, run_training
from eras.errors import DataError, SettingError
from eras.files import Journal, write_json
from eras.graph import Graph, TrainingView, load_graph, read_graph, write_graph
from eras.models import KnowledgeModel
from eras.scoring import ScoringFunction
from eras.scoring.named import named
from eras.search.config import SearchConfig
from eras.search.estimators.standalone import measure_pace
from eras.search.plan import plan_search
from eras.search.result import Progress
from eras.search.space import Space
from eras.search.start import HAND_DESIGNED, hand_designed
from eras.store import Model, claim
from eras.store.directory import going_on, read_config, read_manifest, working_in, write_function, write_manifest
from eras.training import Report, TrainConfig, recommend
from eras.training.defaults import NEGATIVES

METHOD = "evolution"

SEARCH_SHARE = 0.4
LEAST_SECONDS, MOST_SECONDS = 80.0, 2 * 3600.0
LEAST_EPOCHS = 3
LEAST_SEARCH = 15.0
"""Seconds of search below which starting its workers would be most of it."""

EARLY_END = 0.7
"""The share of its epochs that a training usually takes before it stops for want of progress."""


@dataclass(frozen=True)
class FitPlan:
    """How the time is spent: on the search, then on training so many functions for so many epochs each."""

    seconds: float
    search_seconds: float
    trained: int
    epochs: int
    given: bool

    def describe(self) -> str:
        chosen = "as given" if self.given else "chosen for a graph of this size"
        return (
            f"about {_duration(self.seconds)} ({chosen}): {_duration(self.search_seconds)} of search, then "
            f"{self.trained} functions trained for at most {self.epochs} epochs each"
        )


@dataclass(frozen=True)
class Watchers:
    """Who is told what: the plan, the search's progress, and for each function in training its steps."""

    on_plan: Callable[[FitPlan, TrainConfig], None] = lambda plan, config: None
    on_search: Callable[[Progress], None] = lambda progress: None
    on_training: Callable[[str, int, int], None] = lambda name, number, total: None
    on_step: Callable[[Report], None] = lambda report: None


NOBODY = Watchers()


def fit(
    graph: Graph | str | Path,
    *,
    seconds: float | None = None,
    groups: int | None = None,
    blocks: int = 4,
    out: str | Path | None = None,
    overwrite: bool = False,
    watchers: Watchers = NOBODY,
    command: str | None = None,
    **settings: Any,
) -> Model:
    """Search a scoring function for the graph, train it beside hand-designed ones, and return the best model.

    Args:
        graph: a `Graph`, or anything `load_graph` takes.
        seconds: about how long it may take; chosen by the graph's size if not given.
        groups, blocks: N and M of the search; 3 groups (fewer if the graph has fewer relations) and 4 blocks.
        out: the run folder, which becomes the model directory; a fit that was stopped there goes on.
        overwrite: replace what is in `out` instead.
        settings: fields of `TrainConfig` for the final trainings, such as `dim=128`; `seed` also seeds the search.
    """
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    if out is None:
        with tempfile.TemporaryDirectory(prefix="eras-") as temporary:
            folder = Path(temporary) / "fit"
            model = fit(
                graph,
                seconds=seconds,
                groups=groups,
                blocks=blocks,
                out=folder,
                watchers=watchers,
                command=command,
                **settings,
            )
            model.folder = None
            return model
    folder = Path(out)
    given = {"seconds": seconds, "groups": groups, "blocks": blocks, **settings}
    manifest = going_on(folder, "fit", graph, given, overwrite)
    if manifest is None:
        TrainConfig().updated(**settings)
        if not len(graph.valid):
            raise DataError(f"the graph {graph.name!r} has no validation triples: add some, or hold some out")
        view = graph.training_view()
        plan, config = plan_fit(view, seconds, blocks, **settings)
        searched = plan_search(
            view,
            METHOD,
            blocks=blocks,
            **({} if groups is None else {"groups": groups}),
            seconds=plan.search_seconds,
            seed=config.seed,
            workers=settings.get("threads"),
            device=config.device,
        )
        claim(folder, overwrite)
        facts = {"given": given, "plan": asdict(plan), "search": searched.model_dump()}
        write_manifest(folder, "fit", graph, config, command, **facts)
        write_json(folder / "config.json", config.model_dump())
        write_graph(graph, folder)
    return resume_fit(folder, watchers=watchers)


def plan_fit(view: TrainingView, seconds: float | None, blocks: int, **settings: Any) -> tuple[FitPlan, TrainConfig]:
    """Divide the time, after measuring what an epoch takes; too little of it is refused, with what would do.

    Where the time given would end training on a large graph early, it compares answers with a sample of entities.
    """
    Space(blocks, 1)
    config = resolved(recommend(view, blocks, **{"full_epochs": 0, **settings}))
    if "dim" not in settings:
        unit = math.lcm(blocks, 4)  # what every function that will be trained can be cut into
        config = config.updated(dim=max(unit, config.dim - config.dim % unit))
    if config.dim % blocks:
        raise SettingError(f"dim {config.dim} cannot be cut into {blocks} equal blocks: use a multiple of {blocks}")
    pace = measure_pace(view, named("distmult"), config, config.threads)
    epoch = pace.epoch + pace.validation / config.validate_every
    everyone = len(HAND_DESIGNED) + 1
    usual = EARLY_END * everyone * config.epochs * epoch / (1 - SEARCH_SHARE)
    total = seconds or min(MOST_SECONDS, max(LEAST_SECONDS, usual))
    longest, search_seconds = everyone * config.epochs * epoch, SEARCH_SHARE * total
    if seconds:  # what training cannot use is the search's
        search_seconds = max(search_seconds, total - longest)
    total = min(total, search_seconds + longest)
    left = total - search_seconds
    trained = everyone if left / everyone >= epoch * config.epochs / 2 else 2
    epochs = min(config.epochs, round(left / (trained * epoch)))
    large = len(view.entities) > 2 * NEGATIVES
    if seconds and large and epochs < config.epochs / 2 and not config.negatives and "negatives" not in settings:
        return plan_fit(view, seconds, blocks, **settings, negatives=NEGATIVES)
    if epochs < min(LEAST_EPOCHS, config.epochs) or search_seconds < LEAST_SEARCH:
        searching = min(LEAST_SEARCH / SEARCH_SHARE, LEAST_SEARCH + longest)
        needed = math.ceil(max(2 * LEAST_EPOCHS * epoch / (1 - SEARCH_SHARE), searching))
        raise SettingError(
            f"{_duration(total)} are too short for this graph: an epoch at dim {config.dim} takes about "
            f"{_duration(epoch)}; give at least {_duration(needed)}, or a smaller dim"
        )
    plan = FitPlan(total, search_seconds, trained, epochs, seconds is not None)
    return plan, config.updated(epochs=epochs, validate_every=max(1, epochs // 20))


def resume_fit(folder: Path, *, watchers: Watchers = NOBODY) -> Model:
    """Go on with a fit that was stopped or killed; a finished one is just loaded."""
    manifest = read_manifest(folder)
    if manifest["status"] == "finished":
        return Model.load(folder)
    with working_in(folder):
        return _fit(folder, manifest, watchers)


def _fit(folder: Path, manifest: dict[str, Any], watchers: Watchers) -> Model:
    graph, config = read_graph(folder), read_config(folder)
    plan, blocks = FitPlan(**manifest["plan"]), manifest["given"]["blocks"]
    watchers.on_plan(plan, config)
    given, searching = manifest["given"], SearchConfig().updated(**manifest["search"])
    found = search_within(
        folder / "search",
        graph,
        METHOD,
        searching,
        given,
        given.get("threads"),
        manifest["command"],
        watchers.on_search,
    )
    entrants = _entrants(folder / "search", found.function, _hand_designed(blocks, config.dim), plan.trained)
    results: dict[str, dict[str, Any]] = {}
    best: KnowledgeModel | None = None
    winner = ""
    for number, (name, function) in enumerate(entrants.items(), start=1):
        watchers.on_training(name, number, len(entrants))
        place = folder / "candidates" / name
        place.mkdir(parents=True, exist_ok=True)
        model, results[name] = run_training(place, graph, function, config, watchers.on_step)
        if best is None or results[name]["selection_mrr"] > results[winner]["selection_mrr"]:
            winner, best = name, model
    assert best is not None, "there is always a function to train"
    write_function(folder, entrants[winner], config)
    shutil.copyfile(folder / "candidates" / winner / "journal.jsonl", folder / "journal.jsonl")
    summary = {
        "winner": winner,
        "verdict": verdict(winner, results, list(entrants)),
        "candidates": {name: {**result, "function": entrants[name].to_json()} for name, result in results.items()},
        "search": {key: value for key, value in found.to_json().items() if key not in ("config", "runners_up")},
    }
    fitted = judged(folder, graph, best, entrants[winner], config, {"training": results[winner], "fit": summary})
    for weights in (folder / "candidates").glob("*/*.safetensors"):
        weights.unlink()
    return fitted


def verdict(winner: str, results: dict[str, dict[str, Any]], entrants: list[str]) -> str:
    """Plain words on what the search brought, by selection MRR."""
    mrr = {name: result["selection_mrr"] for name, result in results.items()}
    hand = [name for name in entrants if name != "found"]
    if "found" not in entrants:
        return f"The search came back to {entrants[0]}, a hand-designed function, and {winner} is the best of those."
    best = max(hand, key=lambda name: mrr[name])
    if winner in hand:
        return (
            f"The search brought nothing here: {winner} (selection MRR {mrr[winner]:.4f}) is better than what it "
            f"found ({mrr['found']:.4f}), so {winner} is kept."
        )
    return (
        f"The function found reaches selection MRR {mrr[winner]:.4f}; the best hand-designed one, {best}, "
        f"{mrr[best]:.4f}."
    )


def _hand_designed(blocks: int, dim: int) -> dict[str, ScoringFunction]:
    """The hand-designed functions, in as many blocks as the search where they can be cut so; those that dim allows."""
    tiles = hand_designed(blocks)
    hand = {name: ScoringFunction([tiles[name]], name=name) if name in tiles else named(name) for name in HAND_DESIGNED}
    return {name: function for name, function in hand.items() if dim % function.blocks == 0}


def _entrants(
    searched: Path, found: ScoringFunction, hand: dict[str, ScoringFunction], trained: int
) -> dict[str, ScoringFunction]:
    """The functions to train, by name: what was found, then hand-designed ones, the best by their trials first.

    Where the search came back to a hand-designed function, that function is trained once.
    """
    longest: dict[ScoringFunction, tuple[int, float]] = {}
    for event in Journal(searched / "search.jsonl").events("trial"):
        function = ScoringFunction.from_json(event["function"])
        longest[function] = max(longest.get(function, (0, 0.0)), (event["epochs"], event["mrr"]))
    order = sorted(hand, key=lambda name: longest.get(hand[name], (0, 0.0)), reverse=True)
    entrants = {name: hand[name] for name in order[: trained - 1]}
    if found not in hand.values():
        return {"found": ScoringFunction(found.structures, found.groups, "found"), **entrants}
    return {**{name: f for name, f in hand.items() if f == found}, **entrants}


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds:.1g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
