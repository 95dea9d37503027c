"""From what a user writes to a model: a scoring function of block structures, or another architecture by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eras.errors import UnknownNameError
from eras.models.architectures import ARCHITECTURES, Architecture
from eras.models.base import KnowledgeModel
from eras.models.bilinear import BlockBilinear
from eras.scoring import ScoringFunction, Structure, load_function
from eras.scoring.named import NAMES

Function = ScoringFunction | Architecture


def to_function(spec: Function | Structure | str | Path) -> Function:
    """Read a name, a model with settings (`conve:channels=64`), or anything `load_function` takes."""
    if isinstance(spec, ScoringFunction | Architecture):
        return spec
    if isinstance(spec, Structure):
        return ScoringFunction([spec])
    if isinstance(spec, str) and spec.strip().partition(":")[0].lower() in ARCHITECTURES:
        return Architecture.parse(spec)
    saved = _saved_architecture(Path(spec))
    if saved is not None:
        return saved
    try:
        return load_function(spec)
    except UnknownNameError:
        raise UnknownNameError("scoring function", str(spec), (*NAMES, *ARCHITECTURES)) from None


def function_from_json(content: Any) -> Function:
    return (
        Architecture.from_json(content)
        if isinstance(content, dict) and "model" in content
        else ScoringFunction.from_json(content)
    )


def build_model(
    function: Function,
    relation_names: Sequence[str],
    n_entities: int,
    dim: int,
    *,
    reciprocal: bool,
    device: str = "cpu",
) -> KnowledgeModel:
    if isinstance(function, ScoringFunction):
        return BlockBilinear(function, relation_names, n_entities, dim, reciprocal=reciprocal, device=device)
    options = function.checked_options()
    return function.kind(n_entities, len(relation_names), dim, reciprocal=reciprocal, options=options, device=device)


def _saved_architecture(path: Path) -> Architecture | None:
    """What `Architecture.save` wrote, if that is what the file holds."""
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.suffix == ".json" else None
    except (OSError, ValueError):
        return None
    return Architecture.from_json(content) if isinstance(content, dict) and "model" in content else None
