"""Adagrad, Adam and SGD: the functions that `torch.optim` is made of, with their state in our hands.

So the state can be saved and restored to the bit, and gradients may belong to some rows of a table only: Adagrad and
SGD leave the other rows as they are, without looking at them. (The classes of `torch.optim` also import torch's
compiler, which takes two seconds.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.adagrad import adagrad
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from eras.errors import DamagedError
from eras.training.config import TrainConfig
from eras.training.workspace import Rooms

EPS = 1e-10
"""Keeps Adagrad from dividing by zero."""

_STATE: dict[str, tuple[str, ...]] = {"adagrad": ("step", "sum"), "adam": ("step", "exp_avg", "exp_avg_sq"), "sgd": ()}


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of a table, or of some of its rows: values (n, …), rows (n,), each of them once."""

    values: Tensor
    rows: Tensor | None = None


def gradients_of(module: nn.Module) -> dict[str, Gradient]:
    """What autograd has left with the parameters of a module."""
    left = ((name, parameter.grad) for name, parameter in module.named_parameters())
    return {name: Gradient(gradient) for name, gradient in left if gradient is not None}


class Optimiser:
    """Moves `tables`, by name, along gradients."""

    def __init__(self, tables: Mapping[str, Tensor], config: TrainConfig) -> None:
        self._config, self._tables, self._rooms = config, tables, Rooms()
        self._state = {
            name: {key: table.new_zeros(()) if key == "step" else torch.zeros_like(table) for key in self._keys}
            for name, table in tables.items()
        }

    @property
    def _keys(self) -> tuple[str, ...]:
        return _STATE[self._config.optimiser]

    def lr(self, epoch: int) -> float:
        return self._config.lr * self._config.lr_decay**epoch

    @torch.no_grad()
    def step(self, epoch: int, gradients: Mapping[str, Gradient]) -> None:
        lr = self.lr(epoch)
        for name, gradient in gradients.items():
            table, state = self._tables[name], self._state[name]
            if gradient.rows is None:
                self._move(table, gradient.values, state, lr)
            elif self._config.optimiser == "adam":  # moments decay in every row
                values = torch.zeros_like(table).index_copy_(0, gradient.rows, gradient.values)
                self._move(table, values, state, lr)
            else:
                self._move_rows(table, gradient.values, gradient.rows, state, lr)
        if self._config.unit_ball:
            entities = self._tables["entities"]
            entities.div_(entities.norm(dim=1, keepdim=True).clamp_(min=1.0))

    def _move_rows(self, table: Tensor, gradient: Tensor, rows: Tensor, state: dict[str, Tensor], lr: float) -> None:
        moved = self._rooms.rows("moved", table, rows)
        mine = {key: value if key == "step" else self._rooms.rows(key, value, rows) for key, value in state.items()}
        self._move(moved, gradient, mine, lr)
        table.index_copy_(0, rows, moved)
        for key, value in mine.items():
            if key != "step":
                state[key].index_copy_(0, rows, value)

    def _move(self, x: Tensor, g: Tensor, state: dict[str, Tensor], lr: float) -> None:
        fused = x.device.type == "cpu"
        if self._config.optimiser == "adagrad":
            adagrad(
                [x], [g], [state["sum"]], [state["step"]],
                fused=fused, lr=lr, weight_decay=0.0, lr_decay=0.0, eps=EPS, maximize=False,
            )  # fmt: skip
        elif self._config.optimiser == "adam":
            adam(
                [x], [g], [state["exp_avg"]], [state["exp_avg_sq"]], [], [state["step"]],
                fused=fused, amsgrad=False, beta1=0.9, beta2=0.999, lr=lr, weight_decay=0.0, eps=1e-8, maximize=False,
            )  # fmt: skip
        else:
            sgd(
                [x], [g], [None],
                fused=fused, weight_decay=0.0, momentum=0.0, lr=lr, dampening=0.0, nesterov=False, maximize=False,
            )  # fmt: skip

    def state(self) -> dict[str, Tensor]:
        """Every tensor of the optimiser's state, by `table.key`."""
        return {f"{name}.{key}": value for name, state in self._state.items() for key, value in state.items()}

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        mine = self.state()
        if not mine.keys() <= state.keys():
            raise DamagedError("the checkpoint does not hold the optimiser's whole state")
        for key, value in mine.items():
            value.copy_(state[key])
