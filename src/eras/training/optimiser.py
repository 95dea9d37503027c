"""The optimiser: torch's own, with its whole state in view so that it can be saved and restored to the bit."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from eras.errors import DamagedError
from eras.training.config import TrainConfig


class Optimiser:
    """Moves `tables`, by name, along the gradients that lie in their `grad`."""

    def __init__(self, tables: Mapping[str, Tensor], config: TrainConfig) -> None:
        self._config, self._tables = config, tables
        parameters = list(tables.values())
        fused = parameters[0].device.type == "cpu"
        self._torch: torch.optim.Optimizer
        if config.optimiser == "adagrad":
            self._torch = torch.optim.Adagrad(parameters, lr=config.lr, fused=fused)
        elif config.optimiser == "adam":
            self._torch = torch.optim.Adam(parameters, lr=config.lr, fused=fused)
        else:
            self._torch = torch.optim.SGD(parameters, lr=config.lr, fused=fused)

    @torch.no_grad()
    def step(self, epoch: int) -> None:
        for group in self._torch.param_groups:
            group["lr"] = self._config.lr * self._config.lr_decay**epoch
        self._torch.step()
        if self._config.unit_ball:
            entities = self._tables["entities"]
            entities.div_(entities.norm(dim=1, keepdim=True).clamp_(min=1.0))

    def state(self) -> dict[str, Tensor]:
        """Every tensor of the optimiser's state, by `table.key`."""
        return {
            f"{name}.{key}": value
            for name, table in self._tables.items()
            for key, value in self._torch.state[table].items()
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        for name, table in self._tables.items():
            mine = {key: value for key, value in state.items() if key.startswith(f"{name}.")}
            self._torch.state[table] = {key.removeprefix(f"{name}."): value for key, value in mine.items()}
        expected = {"adagrad": {"step", "sum"}, "adam": {"step", "exp_avg", "exp_avg_sq"}, "sgd": set()}
        for table in self._tables.values():
            if not expected[self._config.optimiser] <= set(self._torch.state[table]):
                raise DamagedError("the checkpoint does not hold the optimiser's whole state")
