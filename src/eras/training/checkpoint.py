"""Checkpoints: one file, written beside, synced and renamed, with the place in the run in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from eras.errors import DamagedError
from eras.files import read_tensors, write_tensors


@dataclass
class Progress:
    """Where a run is. All randomness is a function of (seed, epoch, step), so this and the tensors are the state."""

    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    penalty_sum: float = 0.0
    seconds: float = 0.0
    last_mrr: float | None = None
    best_mrr: float = -1.0
    best_epoch: int = -1
    stale: int = 0
    finished: bool = False


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], progress: Progress) -> None:
    write_tensors(path, tensors, {"progress": json.dumps(asdict(progress))})


def load_checkpoint(path: Path, device: torch.device) -> tuple[dict[str, Tensor], Progress]:
    tensors, metadata = read_tensors(path, str(device))
    try:
        return tensors, Progress(**json.loads(metadata["progress"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{path} does not say where the run was: it is no checkpoint of this eras") from error
