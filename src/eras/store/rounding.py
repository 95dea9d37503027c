"""Tables in half the room: bfloat16 keeps the range of a float and the first 8 bits of its fraction.

A model is rounded once, before it is judged, and computes in 32 bits all the same. So what is written loses nothing
more, and every figure is that of the model on disk.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eras.models import KnowledgeModel
from eras.training.config import TrainConfig


@torch.no_grad()
def round_tables(model: KnowledgeModel, config: TrainConfig) -> None:
    """Make the model what `stored_tables` keeps of it."""
    tables = model.tables
    for name, kept in stored_tables(model, config).items():
        tables[name].copy_(kept)


def stored_tables(model: KnowledgeModel, config: TrainConfig) -> dict[str, Tensor]:
    """The tables as they are written; only what was learned by gradients is rounded, not what batch norm counted."""
    if config.storage == "float32":
        return model.tables
    counted = {name for name, _ in model.named_buffers()} if isinstance(model, nn.Module) else set()
    return {name: table if name in counted else table.to(torch.bfloat16) for name, table in model.tables.items()}
