"""The optimisers against the classes of torch, on whole tables and on some of their rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from eras.errors import DamagedError
from eras.training import TrainConfig
from eras.training.optimiser import Gradient, Optimiser

SHAPES = {"entities": (50, 6), "core": (3, 4, 5)}
PEERS: dict[str, Any] = {"adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def tables(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_moves_as_torch_does(name: str, sparse: bool) -> None:
    """With gradients for some rows only, all others keep value and state, or move as under a gradient of zero."""
    config = TrainConfig(optimiser=name, lr=0.05, lr_decay=0.5)
    mine, theirs = tables(0), [table.clone().requires_grad_() for table in tables(0).values()]
    optimiser, peer = Optimiser(mine, config), PEERS[name](theirs, lr=0.05)
    for step in range(6):
        gradients = {key: Gradient(value) for key, value in tables(step + 1).items()}
        dense = [gradient.values for gradient in gradients.values()]
        if sparse:
            rows = torch.randperm(50, generator=torch.Generator().manual_seed(step))[:11]
            gradients["entities"] = Gradient(dense[0][rows], rows)
            dense[0] = torch.zeros_like(dense[0]).index_copy_(0, rows, dense[0][rows])
        optimiser.step(step // 3, gradients)
        for group in peer.param_groups:
            group["lr"] = 0.05 * 0.5 ** (step // 3)
        for parameter, gradient in zip(theirs, dense, strict=True):
            parameter.grad = gradient
        peer.step()
    for table, parameter in zip(mine.values(), theirs, strict=True):
        torch.testing.assert_close(table, parameter.detach())


def test_a_restored_state_goes_on_to_the_same_bits() -> None:
    config = TrainConfig(optimiser="adam", lr=0.05)
    first, second = tables(0), tables(0)
    one, other = Optimiser(first, config), Optimiser(second, config)
    gradients = {key: Gradient(value) for key, value in tables(1).items()}
    one.step(0, gradients)
    for name, table in first.items():
        second[name].copy_(table)
    other.restore({key: value.clone() for key, value in one.state().items()})
    one.step(1, gradients)
    other.step(1, gradients)
    assert all(torch.equal(first[name], second[name]) for name in first)
    with pytest.raises(DamagedError, match="whole state"):
        other.restore({"entities.step": torch.zeros(())})
