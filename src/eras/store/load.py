"""Whatever a folder holds that can answer questions."""

from __future__ import annotations

from pathlib import Path

from eras.store.directory import read_manifest
from eras.store.model import Model
from eras.store.predictor import Predictor


def load_model(folder: str | Path) -> Predictor:
    """The model, or the rules, of a folder."""
    if read_manifest(Path(folder)).get("kind") != "rules":
        return Model.load(folder)
    from eras.store.rules import RuleModel

    return RuleModel.load(folder)
