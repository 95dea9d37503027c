"""ConvE (Dettmers et al., AAAI 2018): a convolution over entity and relation, as a picture, makes the question."""

from __future__ import annotations

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from eras.errors import SettingError
from eras.models.base import Options, Product


class ConvolutionOptions(Options):
    channels: int = Field(32, ge=1, description="Filters.")
    input_dropout: float = Field(0.2, ge=0, lt=1, description="Dropout of what is convolved.")
    feature_dropout: float = Field(0.2, ge=0, lt=1, description="Dropout of whole feature maps.")
    output_dropout: float = Field(0.3, ge=0, lt=1, description="Dropout of the question, before its norm.")


class ConvEOptions(ConvolutionOptions):
    height: int | None = Field(None, ge=1, description="Rows of an embedding as a picture; near the square root.")
    kernel: int = Field(3, ge=1, description="Side of a filter.")


class ConvE(Product):
    """relations: (rows, dim); bias: (n_entities, 1). Entity over relation is a picture of 2·height × dim / height."""

    one_sided = True
    per_entity = ("entities", "bias")
    Options = ConvEOptions

    def build(self, rows: int, dim: int) -> None:
        o = self.options
        self.height = o.height or max(d for d in range(1, math.isqrt(dim) + 1) if dim % d == 0)
        if dim % self.height:
            raise SettingError(f"dim {dim} cannot be laid out in {self.height} equal rows")
        flat = o.channels * (2 * self.height - o.kernel + 1) * (dim // self.height - o.kernel + 1)
        if o.kernel > min(2 * self.height, dim // self.height):
            raise SettingError(f"a filter of side {o.kernel} is larger than {2 * self.height} × {dim // self.height}")
        self.relations = nn.Parameter(torch.zeros(rows, dim))
        self.bias = nn.Parameter(torch.zeros(self.n_entities, 1))
        self.network = nn.Sequential(
            nn.BatchNorm2d(1),
            nn.Dropout(o.input_dropout),
            nn.Conv2d(1, o.channels, o.kernel),
            nn.BatchNorm2d(o.channels),
            nn.ReLU(),
            nn.Dropout2d(o.feature_dropout),
            nn.Flatten(),
            nn.Linear(flat, dim),
            nn.Dropout(o.output_dropout),
            nn.BatchNorm1d(dim),
            nn.ReLU(),
        )

    def settle(self) -> None:
        self.bias.zero_()

    def candidates(self, picked: Tensor | None = None) -> Tensor:
        """The bias is one more coordinate, which meets a one."""
        return with_bias(self.entities, self.bias, picked)

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        picture = torch.cat([x.view(len(e), 1, self.height, -1) for x in (e, self.relations[relation])], 2)
        return with_one(self.network(picture))


def with_bias(entities: Tensor, bias: Tensor, picked: Tensor | None) -> Tensor:
    table = torch.cat([entities, bias], 1)
    return table if picked is None else table[picked]


def with_one(q: Tensor) -> Tensor:
    return torch.cat([q, q.new_ones(len(q), 1)], 1)
