"""Checkpoints: one safetensors file, written beside, synced and renamed, with the place in the run in its header."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from eras.errors import DamagedError
from eras.files import replacing


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


def save_checkpoint(path: Path, tensors: dict[str, Tensor], progress: Progress) -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        save_file(plain, temporary, metadata={"progress": json.dumps(asdict(progress))})


def load_checkpoint(path: Path, device: torch.device) -> tuple[dict[str, Tensor], Progress]:
    try:
        with safe_open(path, framework="pt", device=str(device)) as stream:
            progress = Progress(**json.loads(stream.metadata()["progress"]))
            return {name: stream.get_tensor(name) for name in stream.keys()}, progress  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"the checkpoint {path} cannot be read ({error})") from error
