"""A model in memory, written as a model directory."""

from __future__ import annotations

from pathlib import Path

from eras.report import model_card
from eras.store import Model, claim, write_model
from eras.store.directory import read_manifest, start


def save_model(model: Model, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a model, say one that entities were added to, into a folder that `eras` can use.

    Its figures stay those of its training. An index goes with it if one was built or used here.
    """
    folder = Path(folder)
    claim(folder, overwrite)
    start(folder, model.graph, model.function, model.config, None)
    card = model_card(model.graph, model.function, model.config, model.metrics, read_manifest(folder))
    if model.calibrated is not None:
        model.calibrated.save(folder, model.graph.relations)
    if model.has_index:
        model.index.save(folder)
    write_model(folder, model.scorer, model.config, model.metrics, card)
