"""How each model that is no block structure is trained where nothing else is said.

From the papers: self-adversarial weights for TransE (as in RotatE's paper, its margins included), Adam for ConvE,
HypER and TuckER. Where settings belong to one data set, what does well on validation of UMLS and FB15k-237 stands in
their place: those three, whose papers have a binary loss and hundreds of epochs, learn in a few with softmax. `dim`
is an upper bound.
"""

from __future__ import annotations

from typing import Any

_ADAM = {"optimiser": "adam", "regulariser": "none", "init": "xavier", "validate_every": 5}
_SHARED_WEIGHTS = {**_ADAM, "loss": "softmax", "lr": 1e-3, "batch_size": 128, "dim": 200}
_DISTANCE = {**_ADAM, "loss": "softmax", "lr": 1e-2}

RECIPES: dict[str, dict[str, Any]] = {
    "transe": {**_ADAM, "loss": "self-adversarial", "margin": 6.0, "lr": 1e-3},
    "transh": _DISTANCE,
    "rotate": _DISTANCE,
    "rescal": {"dim": 128, "init": "xavier"},
    "hole": {"init": "xavier"},
    "holex": {"init": "xavier"},
    "quate": {"init": "xavier"},
    "tucker": _SHARED_WEIGHTS,
    "conve": _SHARED_WEIGHTS,
    "hyper": _SHARED_WEIGHTS,
    "ntn": {**_ADAM, "lr": 1e-3, "dim": 64},
}

LARGE = 4096
"""Entities above which a graph is large."""

_ON_LARGE: dict[str, dict[str, Any]] = {
    "transe": {"negatives": 256, "batch_size": 128, "margin": 9.0},
    "rotate": {"batch_size": 512},
    "quate": {"batch_size": 512},
    "tucker": {"batch_size": 512, "dim": 128},
    "conve": {"batch_size": 256},
    "hyper": {"batch_size": 256},
    "ntn": {"negatives": 1024, "batch_size": 256},
}
"""Sums of absolute differences and networks on every pair are no products: there samples stand in for all entities.
Elsewhere larger batches make the products longer, and TuckER's core is shared by more questions."""


def recipe(model: str, n_entities: int) -> dict[str, Any]:
    return {**RECIPES[model], **(_ON_LARGE.get(model, {}) if n_entities > LARGE else {})}
