"""Training steps with gradients from autograd, on the same merged questions as those written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import dropout

from eras.graph.queries import Ints, Queries
from eras.models.base import EmbeddingModel, Encoded
from eras.training.batches import Asked, candidate_rng, sample_candidates
from eras.training.config import TrainConfig
from eras.training.losses import LOSSES
from eras.training.optimiser import Optimiser, gradients_of
from eras.training.products import Loss, binary, by_products, softmax
from eras.training.stepper import Gradients, Stepper
from eras.training.workspace import Workspace

BLOCKS = 6
"""Score blocks that live at the same time in a loss and its gradient, about."""


class AutogradStepper(Stepper[EmbeddingModel]):
    def __init__(self, model: EmbeddingModel, queries: Queries, config: TrainConfig) -> None:
        super().__init__(model, queries, config)
        self.optimiser = Optimiser(dict(model.named_parameters()), config)
        self._workspace = Workspace(config.batch_size, config.memory_mb)

    def gradients(self, picked: Ints, epoch: int, step: int) -> Gradients:
        picked = picked[np.argsort(self.queries.side[picked], kind="stable")]
        self.model.zero_grad()
        self.model.train()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(self.place(epoch, step))
            loss = self._loss(picked, candidate_rng(self.config.seed, epoch, step), self.samples(epoch))
            penalty = self._penalty(picked)
        self.model.eval()
        return loss, penalty, gradients_of(self.model)

    def _loss(self, picked: Ints, rng: np.random.Generator, sampled: bool) -> float:
        """Encode all questions of the batch, compare them with their candidates, and go back."""
        model, config, asked = self.model, self.config, self.queries
        encoded = model.encode(asked.entity[picked], asked.relation[picked], asked.side[picked])
        if config.dropout:
            encoded = (dropout(encoded[0], config.dropout), *encoded[1:])
        answers = asked.answers_of(picked)
        row, answer = (torch.from_numpy(ids).to(model.device) for ids in (answers.row, answers.entity))
        counts = torch.from_numpy(asked.counts[picked].astype(np.float32)).to(model.device)
        candidates, log_weight = None, None
        if sampled:
            drawn = sample_candidates(answer, model.n_entities, config.negatives, rng)
            candidates, answer, log_weight = drawn.entity, drawn.position, drawn.log_weight
        table, wanted = model.candidates(candidates), Asked(row, answer, counts, log_weight)
        gradients: Sequence[Tensor | None]
        by_hand = _by_hand(config) if model.metric == "product" else None
        if by_hand is not None:
            loss, *gradients = by_products(by_hand, encoded[0].detach(), table.detach(), wanted, self._workspace)
        else:
            loss, gradients = self._compared(encoded, table, wanted)
        reached = [(part, g) for part, g in zip((*encoded, table), gradients, strict=True) if g is not None]
        torch.autograd.backward([part for part, _ in reached], [g for _, g in reached])
        return float(loss)

    def _compared(self, encoded: Encoded, table: Tensor, wanted: Asked) -> tuple[Tensor, list[Tensor | None]]:
        """The mean loss over all answers, in blocks under the memory budget; the gradients of `encoded` and `table`."""
        config = self.config
        leaves, leaf = [_leaf(part) for part in encoded], _leaf(table)
        block = max(1, (config.memory_mb << 20) // (BLOCKS * 4 * len(table)))
        total = table.new_zeros(())
        for start in range(0, len(wanted.counts), block):
            stop = start + block
            scores = self.model.compare(tuple(part[start:stop] for part in leaves), leaf)
            loss = LOSSES[config.loss](scores, wanted.part(start, stop), config) / len(wanted.row)
            torch.autograd.backward(loss)
            total += loss.detach()
        return total, [part.grad for part in (*leaves, leaf)]

    def _penalty(self, picked: Ints) -> float:
        """The regulariser over the vectors of all answers' triples, number by number."""
        config, model = self.config, self.model
        if config.regulariser == "none" or not config.reg_weight:
            return 0.0
        asked, answers = self.queries, self.queries.answers_of(picked)
        power = 3 if config.regulariser == "n3" else 2
        rows = asked.relation[picked] + (model.n_relations * asked.side[picked] if model.reciprocal else 0)
        counts = torch.from_numpy(asked.counts[picked].astype(np.float32)).to(model.device)
        total = _powers(model.entities, answers.entity, power).sum()
        total = total + (counts * _powers(model.entities, asked.entity[picked], power)).sum()
        total = total + (counts * _powers(model.relations, rows, power)).sum()
        total = total * (config.reg_weight / len(answers.row))
        torch.autograd.backward(total)
        return float(total.detach())


def _by_hand(config: TrainConfig) -> Loss | None:
    """The loss over products whose gradients are written by hand, if there is one."""
    if config.loss == "binary":
        return partial(binary, smoothing=config.label_smoothing)
    return softmax if config.loss == "softmax" else None


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_(tensor.requires_grad)


def _powers(table: Tensor, rows: Ints, power: int) -> Tensor:
    """(B,): Σ |x|^power of rows; each different row is looked at once."""
    different, back = np.unique(rows, return_inverse=True)
    sizes = table[torch.from_numpy(different).to(table.device)].flatten(1).abs().pow(power).sum(1)
    return sizes[torch.from_numpy(back.ravel()).to(table.device)]
