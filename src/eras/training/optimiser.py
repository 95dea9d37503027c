"""Adagrad, Adam and SGD, each as `torch.optim` does it (a test holds them together).

They are written out for three reasons: gradients may belong to some rows of a table only, and then Adagrad and SGD
leave the other rows as they are without looking at them; a table is updated slice by slice in cache; and the whole
state is in view, so that it can be saved and restored to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from eras.errors import DamagedError
from eras.training.config import TrainConfig

_SLICE = 1 << 16
"""Numbers updated at a time: with their gradients and state they stay in cache."""

_STATE: dict[str, tuple[str, ...]] = {"adagrad": ("sum",), "adam": ("step", "exp_avg", "exp_avg_sq"), "sgd": ()}
_BETA1, _BETA2 = 0.9, 0.999
_ADAGRAD_EPS, _ADAM_EPS = 1e-10, 1e-8


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
        self._config, self._tables = config, tables
        self._state = {
            name: {key: table.new_zeros(()) if key == "step" else torch.zeros_like(table) for key in self._keys}
            for name, table in tables.items()
        }

    @property
    def _keys(self) -> tuple[str, ...]:
        return _STATE[self._config.optimiser]

    @torch.no_grad()
    def step(self, epoch: int, gradients: Mapping[str, Gradient]) -> None:
        lr = self._config.lr * self._config.lr_decay**epoch
        for name, gradient in gradients.items():
            table, state = self._tables[name], self._state[name]
            if gradient.rows is None:
                self._move_all(table, gradient.values, state, lr)
            elif self._config.optimiser == "adam":  # moments decay in every row
                values = torch.zeros_like(table).index_copy_(0, gradient.rows, gradient.values)
                self._move_all(table, values, state, lr)
            else:
                self._move_rows(table, gradient.values, gradient.rows, state, lr)
        if self._config.unit_ball:
            entities = self._tables["entities"]
            entities.div_(entities.norm(dim=1, keepdim=True).clamp_(min=1.0))

    def _move_all(self, table: Tensor, gradient: Tensor, state: dict[str, Tensor], lr: float) -> None:
        if "step" in state:
            state["step"] += 1
        for part in _slices(table):
            moments = {key: value if key == "step" else value.view(-1)[part] for key, value in state.items()}
            self._move(table.view(-1)[part], gradient.reshape(-1)[part], moments, lr)

    def _move_rows(self, table: Tensor, gradient: Tensor, rows: Tensor, state: dict[str, Tensor], lr: float) -> None:
        moved, moments = table[rows], {key: value[rows] for key, value in state.items()}
        self._move(moved, gradient, moments, lr)
        table.index_copy_(0, rows, moved)
        for key, value in moments.items():
            state[key].index_copy_(0, rows, value)

    def _move(self, x: Tensor, g: Tensor, state: dict[str, Tensor], lr: float) -> None:
        if self._config.optimiser == "adagrad":
            total = state["sum"].addcmul_(g, g)
            x.addcdiv_(g, total.sqrt().add_(_ADAGRAD_EPS), value=-lr)
        elif self._config.optimiser == "adam":
            step = float(state["step"])
            mean = state["exp_avg"].lerp_(g, 1 - _BETA1)
            square = state["exp_avg_sq"].mul_(_BETA2).addcmul_(g, g, value=1 - _BETA2)
            size = square.sqrt().div_((1 - _BETA2**step) ** 0.5).add_(_ADAM_EPS)
            x.addcdiv_(mean, size, value=-lr / (1 - _BETA1**step))
        else:
            x.add_(g, alpha=-lr)

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


def _slices(table: Tensor) -> Iterator[slice]:
    """Parts of a flat table; a GPU takes it whole."""
    size = table.numel()
    at_once = _SLICE if table.device.type == "cpu" else size
    return (slice(start, start + at_once) for start in range(0, size, max(1, at_once)))
