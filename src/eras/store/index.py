"""An index of a model's entity vectors, which finds the best answers without a look at every entity.

The vectors lie in lists around centres (an inverted file). A question looks into the lists whose centres suit it best
and compares what is in them exactly; an answer in another list is missed. The file is tied to the parameters that it
was made from, since an index of other vectors would give wrong answers without a sign of it.
"""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from eras.errors import DamagedError, FailureError, UsageError
from eras.files import read_json, replacing, write_json
from eras.graph.queries import Answers
from eras.models import KnowledgeModel
from eras.models.base import Metric

FILE, FACTS = "index.faiss", "index.json"

Ids = npt.NDArray[np.int64]
Questions = tuple[Ids, Ids, Ids]
"""Entity, relation and side of each."""

Found = tuple[Ids, Ids, npt.NDArray[np.float32]]
"""(question, answer, score), best first within each question."""


@dataclass(frozen=True, eq=False)
class EntityIndex:
    """lists: an inverted file of Faiss; probes: how many of its lists a question looks into; about: how it was made and
    what was measured."""

    lists: Any
    metric: Metric
    probes: int
    fingerprint: str
    about: dict[str, Any]

    def best(self, questions: Tensor, k: int, left_out: Answers) -> Found:
        """The k best entities found for each of B questions (B, width), less those left out.

        A question whose lists hold too few looks into twice as many, until it has k or all that there are.
        """
        points = np.ascontiguousarray(questions.cpu().numpy(), dtype=np.float32)
        n, most = self.lists.ntotal, self.lists.nlist
        hidden = np.bincount(left_out.row, minlength=len(points))
        wanted = np.minimum(k, n - hidden)
        # One search asks the same number for all its questions: those that need about as many go together.
        size = np.minimum(n, np.exp2(np.ceil(np.log2(k + hidden))).astype(np.int64))
        rows, probes = np.flatnonzero(wanted), self.probes
        parts: list[Found] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
        while len(rows):
            short = []
            for number in np.unique(size[rows]).tolist():
                group = rows[size[rows] == number]
                score, answer = self._search(points[group], number, probes)
                new = answer >= 0
                if len(left_out.row):
                    new &= ~np.isin(group[:, None] * n + answer, left_out.row * n + left_out.entity)
                place = new.cumsum(1)
                enough = (place[:, -1] >= wanted[group]) | (probes >= most)
                kept = new & (place <= k) & enough[:, None]
                parts.append((np.broadcast_to(group[:, None], kept.shape)[kept], answer[kept], score[kept]))
                short.append(group[~enough])
            rows, probes = np.concatenate(short), min(2 * probes, most)
        question, answer, score = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = question.argsort(kind="stable")
        return question[order], answer[order], score[order]

    def _search(self, points: npt.NDArray[np.float32], number: int, probes: int) -> tuple[npt.NDArray[np.float32], Ids]:
        """Scores and entities, (B, number); −1 where the lists hold no more."""
        found, answer = self.lists.search(points, number, params=load_faiss().SearchParametersIVF(nprobe=probes))
        return (found if self.metric == "product" else -np.sqrt(found + 1e-9)), answer

    def save(self, folder: Path) -> None:
        """The facts come last and go first: a folder with facts has the index that they are about."""
        with replacing(folder / FILE) as temporary:
            try:
                load_faiss().write_index(self.lists, str(temporary))
            except RuntimeError as error:
                raise FailureError(f"cannot write {folder / FILE}: {_first_line(error)}") from error
            (folder / FACTS).unlink(missing_ok=True)
        facts = {"metric": self.metric, "probes": self.probes, "fingerprint": self.fingerprint}
        write_json(folder / FACTS, {**facts, **self.about})


def read_index(folder: Path, model: KnowledgeModel) -> EntityIndex:
    """What `save` wrote about this very model."""
    again = f"build it with `eras index {folder}`"
    if not (folder / FACTS).exists():
        raise UsageError(f"{folder} has no index for approximate answers: {again}")
    faiss, facts = load_faiss(), read_json(folder / FACTS)
    try:
        metric, probes, made_from = facts.pop("metric"), int(facts.pop("probes")), facts.pop("fingerprint")
        if made_from != fingerprint(model):
            raise DamagedError(f"the index in {folder} was made from other parameters than the model now has: {again}")
        lists = faiss.read_index(str(folder / FILE))
        if lists.ntotal != model.n_entities:
            raise DamagedError(
                f"{folder / FILE} holds {lists.ntotal:,} vectors, the model has {model.n_entities:,} entities: {again}"
            )
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise DamagedError(f"the index in {folder} cannot be used ({_first_line(error)}): {again}") from error
    return EntityIndex(lists, metric, probes, made_from, facts)


def fingerprint(model: KnowledgeModel) -> str:
    """SHA-256 of all parameters."""
    digest = hashlib.sha256()
    for name, table in sorted(model.tables.items()):
        digest.update(f"{name} {table.dtype} {tuple(table.shape)}\n".encode())
        digest.update(table.detach().cpu().contiguous().view(-1).numpy().data)
    return digest.hexdigest()


def load_faiss() -> Any:
    """The optional package, or how to get it."""
    try:
        return importlib.import_module("faiss")
    except ImportError:
        raise UsageError("approximate answers need Faiss; install it with pip install 'eras-kge[ann]'") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [repr(error)])[0]
