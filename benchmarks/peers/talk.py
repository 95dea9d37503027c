"""How a worker and the comparison talk: one JSON object a line, orders on stdin, answers on stdout."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SPLITS = "train", "valid", "test"


class Talk:
    """The worker's side. Whatever a library prints on stdout goes to stderr, so that answers stay readable."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def order(self) -> dict[str, Any]:
        """The next order; the worker ends where there are no more."""
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        order: dict[str, Any] = json.loads(line)
        return order

    def answer(self, **facts: Any) -> None:
        self._answers.write(json.dumps(facts) + "\n")
        self._answers.flush()


def read_triples(folder: str) -> dict[str, npt.NDArray[np.int64]]:
    """By split, (n, 3): head, relation, tail."""
    return {split: np.load(Path(folder) / f"{split}.npy").astype(np.int64) for split in SPLITS}


def some(triples: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """As many of the triples, drawn at random; always the same."""
    chosen = np.random.default_rng(0).permutation(len(triples))[:count]
    return triples[chosen]
