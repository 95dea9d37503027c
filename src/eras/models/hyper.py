"""HypER (Balažević et al., ICANN 2019): the relation makes the filters that are run over the entity."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import dropout

from eras.errors import SettingError
from eras.models.base import Product
from eras.models.conve import ConvolutionOptions, with_bias, with_one


class HypEROptions(ConvolutionOptions):
    kernel: int = Field(9, ge=1, description="Length of a filter.")


class HypER(Product):
    """relations: (rows, dim); bias: (n_entities, 1); the filters of a relation: (kernel, channels)."""

    one_sided = True
    per_entity = ("entities", "bias")
    Options = HypEROptions

    def build(self, rows: int, dim: int) -> None:
        o = self.options
        if o.kernel > dim:
            raise SettingError(f"a filter of length {o.kernel} is longer than dim {dim}")
        self.relations = nn.Parameter(torch.zeros(rows, dim))
        self.bias = nn.Parameter(torch.zeros(self.n_entities, 1))
        self.filters = nn.Linear(dim, o.kernel * o.channels)
        self.norm_in, self.norm_features, self.norm_out = (
            nn.BatchNorm1d(1),
            nn.BatchNorm1d(o.channels),
            nn.BatchNorm1d(dim),
        )
        self.output = nn.Linear(o.channels * (dim - o.kernel + 1), dim)

    def settle(self) -> None:
        self.bias.zero_()

    def candidates(self, picked: Tensor | None = None) -> Tensor:
        return with_bias(self.entities, self.bias, picked)

    def query(self, e: Tensor, relation: Tensor, side: int) -> Tensor:
        o, on = self.options, self.training
        x = dropout(self.norm_in(e[:, None])[:, 0], o.input_dropout, on)
        filters = self.filters(self.relations[relation]).view(len(e), o.kernel, o.channels)
        maps = self.norm_features((x.unfold(1, o.kernel, 1) @ filters).transpose(1, 2))
        maps = nn.functional.dropout1d(maps, o.feature_dropout, on)
        q = dropout(self.output(maps.flatten(1)), o.output_dropout, on)
        return with_one(self.norm_out(q).relu())
