"""How a worker and the comparison talk: the graph is a file; then come orders on stdin and answers on stdout.

Both are one JSON object a line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.process import forget_peak, peak_bytes

Triples = npt.NDArray[np.int64]
"""(n, 3): head, relation, tail."""


@dataclass(frozen=True, eq=False)
class Given:
    """The graph that all work on: ids are positions among the names."""

    entities: list[str]
    relations: list[str]
    train: Triples
    valid: Triples
    test: Triples

    @property
    def facts(self) -> Triples:
        return np.concatenate([self.train, self.valid, self.test])

    def save(self, path: Path) -> None:
        entities, relations = np.array(self.entities), np.array(self.relations)
        np.savez(path, entities=entities, relations=relations, train=self.train, valid=self.valid, test=self.test)

    @classmethod
    def load(cls, path: str) -> Given:
        with np.load(path) as parts:
            names = {kind: parts[kind].tolist() for kind in ("entities", "relations")}
            return cls(**names, **{split: parts[split] for split in ("train", "valid", "test")})


class Talk:
    """The worker's side. Whatever a library prints on stdout goes to stderr, so that answers stay readable."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def serve(self, actions: Mapping[str, Callable[..., dict[str, Any]]]) -> dict[str, Any]:
        """Do what is ordered and answer, as long as it is one of these actions; the first order that is not."""
        while (order := self._order())["do"] in actions:
            action = actions[order.pop("do")]
            self.answer(**action(**order))
        return order

    def _order(self) -> dict[str, Any]:
        """The next order; the worker ends where there are no more."""
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        order: dict[str, Any] = json.loads(line)
        forget_peak()
        return order

    def answer(self, **facts: Any) -> None:
        """What was found, and the most memory that was held since the order came."""
        self._answers.write(json.dumps({**facts, "peak": peak_bytes()}) + "\n")
        self._answers.flush()


def some(triples: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """As many of the triples, drawn at random; always the same."""
    chosen = np.random.default_rng(0).permutation(len(triples))[:count]
    return triples[chosen]
