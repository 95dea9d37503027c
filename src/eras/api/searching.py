"""`search_function`: find a scoring function for a graph."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from eras.api.interrupt import graceful_interrupt
from eras.errors import DamagedError, SettingError
from eras.files import Journal, read_json, write_json
from eras.graph import Graph, load_graph, read_graph, write_graph
from eras.report.curves import draw_search
from eras.scoring import ScoringFunction
from eras.search.config import SearchConfig
from eras.search.oneshot import OneShotSearch
from eras.search.plan import plan_search
from eras.search.result import Found, Watch
from eras.search.start import known_name
from eras.search.trials import TrialSearch
from eras.store.directory import claim, finish, going_on, read_manifest, working_in, write_function, write_manifest


@dataclass(frozen=True)
class SearchResult:
    """The function that a search found, with the reward that chose it and what the search took.

    `about` holds what the strategy had to say at the end, such as how well AutoSF's predictor ranked.
    """

    function: ScoringFunction
    reward: float
    method: str
    config: SearchConfig
    tried: int
    seconds: float
    runners_up: tuple[ScoringFunction, ...]
    about: dict[str, float]
    folder: Path | None

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "reward": self.reward,
            "tried": self.tried,
            "seconds": round(self.seconds, 3),
            "about": self.about,
            "known_as": known_name(self.function),
            "function": self.function.to_json(),
            "runners_up": [f.to_json() for f in self.runners_up],
            "config": self.config.model_dump(),
        }


def search_function(
    graph: Graph | str | Path,
    method: str = "evolution",
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    watch: Watch = lambda progress: None,
    command: str | None = None,
    **settings: Any,
) -> SearchResult:
    """Search a scoring function for a graph; train it with `eras.train(graph, result.function)`.

    Args:
        graph: a `Graph`, or anything `load_graph` takes.
        method: a name from `eras.search.config.METHODS`, such as `"evolution"` or `"eras"`.
        out: the folder for function, picture, journal and summary; a search that was stopped there goes on.
        overwrite: replace what is in `out` instead.
        workers: trials that run side by side; all cores if not given. Does not change the result.
        watch: called with a `Progress` as the search goes on.
        settings: `groups`, `blocks`, `seconds`, `dim` and the other fields of `SearchConfig`.
    """
    graph = graph if isinstance(graph, Graph) else load_graph(graph)
    if out is None:
        with tempfile.TemporaryDirectory(prefix="eras-") as temporary:
            result = search_function(
                graph, method, out=Path(temporary) / "search", workers=workers, watch=watch, command=command, **settings
            )
            return SearchResult(**{**vars(result), "folder": None})
    folder, given = Path(out), {"method": method, **settings}
    given |= {key: value.model_dump() for key, value in given.items() if isinstance(value, BaseModel)}
    manifest = going_on(folder, "search", graph, given, overwrite)
    if manifest is None:
        config = plan_search(graph.training_view(), method, workers=workers, **settings)
        claim(folder, overwrite)
        return search_within(folder, graph, method, config, given, workers, command, watch)
    return resume_search(folder, watch=watch)


def search_within(
    folder: Path,
    graph: Graph,
    method: str,
    config: SearchConfig,
    given: dict[str, Any],
    workers: int | None,
    command: str | None,
    watch: Watch,
) -> SearchResult:
    """A search in a folder of its own: begun there, or gone on with, or read if it has ended.

    The graph is written last of all that a search needs to be resumed, and so says that it is all there.
    """
    if not (folder / "graph.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        facts = {"method": method, "given": given, "search": config.model_dump(), "workers": workers}
        write_manifest(folder, "search", graph, config.training, command, **facts)
        write_graph(graph, folder)
    return resume_search(folder, watch=watch)


def resume_search(folder: Path, *, watch: Watch = lambda progress: None) -> SearchResult:
    """Go on with a search that was stopped or killed; a finished one is just read."""
    manifest = read_manifest(folder)
    config = _config(folder, manifest["search"])
    if manifest["status"] != "finished":
        view = read_graph(folder).training_view()
        kind = TrialSearch if config.estimator == "stand-alone" else OneShotSearch
        with working_in(folder), graceful_interrupt() as interrupted:
            searcher = kind(view, config, folder, manifest["workers"])
            found = searcher.run(watch, interrupted.is_set)
            _write_result(folder, manifest["method"], config, found, searcher.seconds, searcher.tried)
    summary = read_json(folder / "summary.json")
    return SearchResult(
        ScoringFunction.from_json(summary["function"]),
        summary["reward"],
        manifest["method"],
        config,
        summary["tried"],
        summary["seconds"],
        tuple(ScoringFunction.from_json(f) for f in summary["runners_up"]),
        summary["about"],
        folder,
    )


def _write_result(folder: Path, method: str, config: SearchConfig, found: Found, seconds: float, tried: int) -> None:
    result = SearchResult(
        found.function,
        found.reward,
        method,
        config,
        tried,
        seconds,
        found.runners_up[:10],
        found.about,
        folder,
    )
    write_function(folder, found.function, config.training)
    write_json(folder / "summary.json", result.to_json())
    draw_search(Journal(folder / "search.jsonl").events(), folder / "curves.svg")
    finish(folder)
    (folder / "search.safetensors").unlink(missing_ok=True)


def _config(folder: Path, settings: dict[str, Any]) -> SearchConfig:
    try:
        return SearchConfig().updated(**settings)
    except SettingError as error:
        raise DamagedError(f"{folder / 'manifest.json'} cannot be used: {error}") from error
