"""Settings for a graph nobody has seen, from its size and its shape.

Starting from the published recipes of ComplEx-N3; short runs of ComplEx, judged on validation, decided the penalty and
batch of small graphs (UMLS, Kinship, Nations), the learning rate of sparse ones (WN18RR) and what Adam and SGD need
(UMLS). What varies between graphs is how much work an epoch is and how often an entity is seen.
"""

from __future__ import annotations

from typing import Any

from eras.graph import TrainingView
from eras.graph.queries import Queries
from eras.training.config import TrainConfig
from eras.training.recipes import recipe

EPOCH_WORK = 2e13
"""Floating-point operations of one epoch, a few minutes on two cores: above it candidates are sampled, and where that
does not help the dimension is halved."""

NEGATIVES, SAMPLED_BATCH = 4096, 512
"""Entities sampled in a step where all would be too many, and queries that share them."""

FULL_EPOCHS = 2
"""Last epochs that compare all entities after all, if they can be afforded."""

TOTAL_WORK = 3e14
"""Operations of a whole run that bound the number of epochs; under an hour on two cores."""

SPARSE, DENSE = 6, 50
"""Bounds of the mean number of training triples of an entity."""

OTHER_OPTIMISERS = {"adam": {"lr": 0.01}, "sgd": {"lr": 10.0, "init_scale": 0.3}}
"""What Adam and SGD need in place of Adagrad's settings; SGD does not leave a small start by itself."""


def recommend(view: TrainingView, blocks: int, model: str | None = None, **given: Any) -> TrainConfig:
    """Settings for the graph, `dim` a multiple of `blocks`; what is `given` stands, and the rest fits to it.

    `model` names an architecture that is no block structure and has a recipe of its own.
    """
    n_queries, n_entities = len(Queries.of(view.train, len(view.entities), len(view.relations))), len(view.entities)
    own = recipe(model, n_entities) if model else {}
    full = work = 6.0 * n_queries * n_entities  # of an epoch, for each unit of dim: three products
    dim = own.get("dim", 256)
    wanted = given.get("negatives", own.get("negatives"))
    too_much = NEGATIVES if work * given.get("dim", dim) > EPOCH_WORK else 0
    negatives = too_much if wanted is None else wanted
    batch_size = own.get("batch_size", SAMPLED_BATCH if negatives else _batch_size(n_queries))
    if negatives:
        answers = 2 * len(view.train) / n_queries
        work = 6.0 * n_queries * min(n_entities, negatives + batch_size * (1 + answers))
    dim = next((d for d in (dim, dim // 2) if work * d <= EPOCH_WORK), dim // 4)
    dim = given.get("dim", max(blocks, dim - dim % blocks))
    epochs = given.get("epochs", int(min(100, max(10, TOTAL_WORK / (work * dim)))))
    affordable = int(TOTAL_WORK / 3 / (full * dim)) if negatives and wanted is None else 0
    degree = 2 * len(view.train) / len(view.entities)
    sparse = degree < SPARSE  # few updates of each row: Adagrad must take larger ones, and overfits sooner
    chosen = {
        "dim": dim,
        "epochs": epochs,
        "batch_size": batch_size,
        "negatives": negatives,
        "full_epochs": min(FULL_EPOCHS, epochs - 1, affordable),
        "lr": 0.3 if sparse else 0.1,
        "reg_weight": 0.1 if sparse else 0.05 if degree < DENSE else 0.01,
        "validate_every": max(1, epochs // 20),
    }
    chosen |= OTHER_OPTIMISERS.get(given.get("optimiser", ""), {})
    chosen |= {key: value for key, value in own.items() if key != "dim"}
    return TrainConfig().updated(**{**chosen, **given})


def _batch_size(n_queries: int) -> int:
    """Small graphs need small batches to get enough steps."""
    return next((size for size in (64, 128) if n_queries <= 100 * size), 256)
