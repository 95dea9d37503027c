"""Names in, names out: the one-to-one map between names and dense ids."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl

from eras.errors import UnknownNameError, UsageError


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Names sorted by codepoint; the id of a name is its position.

    Sorting makes ids a function of the set of names alone: the same graph gets the same ids whatever the
    order of its lines. Nothing is indexed up front, so a vocabulary costs no more than its strings.
    """

    kind: str
    names: pl.Series
    labels: pl.Series | None = None

    def __len__(self) -> int:
        return len(self.names)

    def name(self, i: int) -> str:
        return str(self.names[int(i)])

    def label(self, i: int) -> str:
        """The label of id `i`, or its name where no label is known."""
        label = None if self.labels is None else self.labels[int(i)]
        return self.name(i) if label is None else str(label)

    def id(self, name: str) -> int:
        """The id of a name, or of a label that only one name carries."""
        position = bisect_left(self.names, name)  # microseconds, where polars would start a query engine
        if position < len(self) and self.names[position] == name:
            return position
        return self._id_of_label(name)

    def ids(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """Ids of many names or labels, shape (len(names),)."""
        found = self.lookup(pl.Series(names, dtype=pl.String))
        for i in np.flatnonzero(found < 0).tolist():
            found[i] = self._id_of_label(names[i])
        return found

    def lookup(self, names: pl.Series) -> npt.NDArray[np.int64]:
        """Ids of many names, or of labels that only one name carries, shape (len(names),); −1 where unknown."""
        ids = np.arange(len(self), dtype=np.int64)
        found = _joined(names, pl.DataFrame({"name": self.names, "id": ids}))
        if self.labels is not None and (found < 0).any():
            labels = pl.DataFrame({"name": self.labels, "id": ids}).drop_nulls().unique("name", keep="none")
            found = np.where(found < 0, _joined(names, labels), found)
        return found

    def _id_of_label(self, label: str) -> int:
        matches = [] if self.labels is None else (self.labels == label).arg_true().to_list()
        if len(matches) == 1:
            return int(matches[0])
        if matches:
            names = ", ".join(repr(self.name(i)) for i in matches[:10])
            more = f" and {len(matches) - 10} more" if len(matches) > 10 else ""
            raise UsageError(f"{self.kind} label {label!r} is carried by {names}{more}: give one of these names")
        labels = [] if self.labels is None else self.labels.drop_nulls().to_list()
        raise UnknownNameError(self.kind, label, chain(self.names.to_list(), labels))


def _joined(names: pl.Series, table: pl.DataFrame) -> npt.NDArray[np.int64]:
    wanted = names.rename("name").to_frame()
    return wanted.join(table, on="name", how="left", maintain_order="left")["id"].fill_null(-1).to_numpy().copy()
