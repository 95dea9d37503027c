"""A model on disk.

manifest.json         format version, status, provenance: graph, versions, machine, time
config.json           every setting of the training run
function.json         structures and grouping, with function.svg, their picture; or a model's name and options
weights.safetensors   entities (n, dim), relations (n or 2n, …), and what else a model learns
entities.parquet …    the graph as `eras.graph.archive` writes it, so that known facts can be left out of predictions
index.faiss …         where `eras index` made one, an index of the entities' vectors, with index.json about it
metrics.json          validation and test figures
README.md             the model card
journal.jsonl         what happened in training, line by line

While a run is going on, checkpoint.safetensors and best.safetensors lie beside these.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from eras._version import __version__
from eras.errors import DamagedError, FailureError, OutputError, SettingError, StructureError, UnknownNameError
from eras.files import read_json, read_tensors, write_json, write_tensors, write_text
from eras.graph import Graph, read_graph, write_graph
from eras.models import Function, KnowledgeModel, build_model, function_from_json
from eras.scoring import ScoringFunction
from eras.store.rounding import stored_tables
from eras.training.config import TrainConfig

FORMAT = 1
LEFT_OVER = (".writable", ".manifest.json.", ".lock")
"""What a run that was killed before its first file may leave behind."""

CHECKPOINTS = ("checkpoint.safetensors", "best.safetensors")


def refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuse an output folder that must not be written; touches nothing."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file: choose another --out")
    if folder.is_dir() and any(not path.name.startswith(LEFT_OVER) for path in folder.iterdir()):
        if not overwrite:
            raise OutputError(f"{folder} exists already: choose another --out, or add --overwrite")
        if not (folder / "manifest.json").exists():
            raise OutputError(f"{folder} holds files that eras did not write: it will not be overwritten")


def claim(folder: Path, overwrite: bool) -> None:
    """Make `folder` an empty folder of ours, or refuse without touching anything."""
    try:
        refuse_taken(folder, overwrite)
        if folder.is_dir():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror or error}") from error


def start(folder: Path, graph: Graph, function: Function, config: TrainConfig, command: str | None) -> None:
    """Write all that a run needs to be resumed, before its first step.

    The manifest comes first: it marks the folder as ours, so that even a run killed right here can be overwritten.
    """
    write_manifest(folder, "train", graph, config, command)
    write_graph(graph, folder)
    write_function(folder, function, config)


def write_manifest(
    folder: Path, kind: str, graph: Graph, config: TrainConfig, command: str | None, **facts: Any
) -> None:
    """Say what is being made here (train, search, fit, compare or rules), from what and by what; status running."""
    write_json(
        folder / "manifest.json",
        {
            "format": FORMAT,
            "kind": kind,
            "status": "running",
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": command,
            "graph": {"name": graph.name, "fingerprint": graph.fingerprint},
            "versions": {
                "eras": __version__,
                "torch": torch.__version__,
                "numba": version("numba") if find_spec("numba") else None,
                "python": platform.python_version(),
            },
            "machine": {"processor": platform.machine(), "threads": config.threads, "device": config.device},
            **facts,
        },
    )


def write_function(folder: Path, function: Function, config: TrainConfig) -> None:
    write_json(folder / "config.json", config.model_dump())
    function.save(folder / "function.json")
    if isinstance(function, ScoringFunction):
        write_text(folder / "function.svg", function.to_svg())


def finish(folder: Path) -> None:
    write_json(folder / "manifest.json", {**read_manifest(folder), "status": "finished"})


def going_on(folder: Path, kind: str, graph: Graph, given: dict[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """The manifest of the same work begun in `folder` earlier, or None if it is to begin now.

    Anything else that is in the folder is refused, unless it may be overwritten. Work that was killed before its graph
    was written has not begun.
    """
    if overwrite or not (folder / "manifest.json").exists():
        refuse_taken(folder, overwrite)
        return None
    manifest = read_manifest(folder)
    if manifest.get("kind") != kind:
        refuse_taken(folder, overwrite)
    advice = "choose another --out, or add --overwrite"
    if manifest["graph"]["fingerprint"] != graph.fingerprint:
        raise OutputError(f"{folder} holds a {kind} of another graph ({manifest['graph']['name']}): {advice}")
    other = [key for key in {**manifest["given"], **given} if manifest["given"].get(key) != given.get(key)]
    if other:
        was, now = manifest["given"].get(other[0], "not given"), given.get(other[0], "not given")
        raise OutputError(f"{folder} holds a {kind} with other settings ({other[0]}: {was}, now {now}): {advice}")
    if not (folder / "graph.json").exists():
        with working_in(folder):
            shutil.rmtree(folder)
        return None
    return manifest


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder while this one works there."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"another eras is at work in {folder}: wait for it, or choose another --out") from None
        try:
            yield
        finally:
            (folder / ".lock").unlink(missing_ok=True)


def write_model(folder: Path, model: KnowledgeModel, config: TrainConfig, metrics: dict[str, Any], card: str) -> None:
    """Turn a run that has ended into a model: weights, metrics and card; the manifest says so last."""
    write_tensors(folder / "weights.safetensors", stored_tables(model, config), {"format": str(FORMAT)})
    write_json(folder / "metrics.json", metrics)
    write_text(folder / "README.md", card)
    finish(folder)
    for name in CHECKPOINTS:
        (folder / name).unlink(missing_ok=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise OutputError(f"there is no model or run folder {folder}")
    if not (folder / "manifest.json").exists():
        raise OutputError(f"{folder} is not a model or run folder: it has no manifest.json")
    manifest = read_json(folder / "manifest.json")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise DamagedError(f"{folder / 'manifest.json'} does not say its format: the folder is damaged")
    if manifest["format"] > FORMAT:
        raise FailureError(
            f"{folder} has format {manifest['format']}, this eras reads up to {FORMAT}: install a newer eras"
        )
    return manifest


def read_config(folder: Path) -> TrainConfig:
    settings = read_json(folder / "config.json")
    try:
        return TrainConfig().updated(**settings)
    except (SettingError, TypeError) as error:
        raise DamagedError(f"{folder / 'config.json'} cannot be used: {error}") from error


def read_function(folder: Path) -> Function:
    content = read_json(folder / "function.json")
    try:
        return function_from_json(content)
    except (StructureError, SettingError, UnknownNameError) as error:
        raise DamagedError(f"{folder / 'function.json'} cannot be used: {error}") from error


def read_model(folder: Path) -> tuple[KnowledgeModel, Function, Graph, TrainConfig]:
    """The trained model of a finished run, on the CPU."""
    manifest = read_manifest(folder)
    weights = folder / "weights.safetensors"
    if manifest.get("kind") == "compare":
        raise OutputError(f"{folder} holds a comparison of searches, not a model")
    if manifest.get("kind") == "rules":
        raise OutputError(f"{folder} holds rules, not a model: eras.RuleModel.load reads them")
    if manifest.get("kind") == "search":
        raise OutputError(f"{folder} holds a search: train what it found, eras train DATA -f {folder}/function.json")
    if manifest.get("status") != "finished":
        raise FailureError(f"the run {folder} has not ended: go on with `eras resume {folder}`")
    config, function, graph = read_config(folder), read_function(folder), read_graph(folder)
    model = build_model(
        function,
        graph.relations.names.to_list(),
        len(graph.entities),
        config.dim,
        reciprocal=config.reciprocal,
    )
    tensors, _ = read_tensors(weights)
    for name, table in model.tables.items():
        if name not in tensors or tensors[name].shape != table.shape:
            found = tuple(tensors[name].shape) if name in tensors else "nothing"
            raise DamagedError(f"{weights} holds {found} for {name}, expected {tuple(table.shape)}")
        table.copy_(tensors[name])
    return model, function, graph, config
