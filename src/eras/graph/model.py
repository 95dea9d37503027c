"""The graph as everything else sees it: vocabularies and integer triples."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eras.errors import UnknownNameError
from eras.graph.vocabulary import Vocabulary

Triples = npt.NDArray[np.int32]
"""Shape (n, 3): head, relation, tail."""

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False)
class TrainingView:
    """What training and search see. It has no test split, so nothing can be selected on it."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Three splits over shared vocabularies.

    Within a split the triples are distinct and sorted by (head, relation, tail), so a graph is a function of
    the facts alone, never of the order of the lines they came from. `notes` says what was done while reading.
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    notes: tuple[str, ...] = ()

    def training_view(self) -> TrainingView:
        return TrainingView(self.name, self.entities, self.relations, self.train, self.valid)

    def split(self, name: str) -> Triples:
        """The triples of `"train"`, `"valid"` or `"test"`."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        if name not in splits:
            raise UnknownNameError("split", name, SPLITS)
        return splits[name]

    @property
    def facts(self) -> Triples:
        """All triples, whatever their split."""
        return np.concatenate([self.train, self.valid, self.test])

    def __repr__(self) -> str:
        sizes = " / ".join(f"{len(self.split(split)):,}" for split in SPLITS)
        return (
            f"<Graph {self.name}: {len(self.entities):,} entities, {len(self.relations):,} relations, {sizes} triples>"
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over names and splits; labels and notes do not count, since no model depends on them."""
        digest = hashlib.sha256()
        for vocabulary in (self.entities, self.relations):
            digest.update(len(vocabulary).to_bytes(8, "little"))
            digest.update(vocabulary.names.str.len_bytes().to_numpy().astype("<u4").tobytes())
            digest.update("".join(vocabulary.names.to_list()).encode())
        for split in SPLITS:
            triples = self.split(split)
            digest.update(len(triples).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(triples, dtype="<i4").tobytes())
        return digest.hexdigest()
