"""What answers questions about a graph by name: a trained model, or a set of rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from eras.errors import UsageError
from eras.evaluation import Evaluation, evaluate
from eras.evaluation.ranking import Ranker, queries_at_a_time
from eras.evaluation.top_one import signs_of
from eras.graph import Graph, Vocabulary
from eras.graph.queries import HEAD, TAIL, Queries
from eras.store.calibration import Calibrated
from eras.store.index import Found, Ids

Names = str | Sequence[str]


class Predictor(ABC):
    """Ranks and completes triples of a graph, names in, names out; scores come from a `Ranker`."""

    def __init__(
        self, ranker: Ranker, graph: Graph, metrics: dict[str, Any], memory_mb: int, folder: Path | None = None
    ) -> None:
        self.ranker = ranker
        self.graph = graph
        self.metrics = metrics
        self.memory_mb = memory_mb
        self.folder = folder
        self.calibrated: Calibrated | None = None
        self._known: Queries | None = None

    def evaluate(self, split: Literal["valid", "test"] = "test", **options: Any) -> Evaluation:
        """Filtered ranks of a split, with metrics and breakdowns."""
        return evaluate(self.ranker, self.graph, split, memory_mb=self.memory_mb, **options)

    @abstractmethod
    def relation_scores(self, head: Ids, tail: Ids) -> Tensor:
        """Scores of all relations between B pairs, (B, n_relations)."""

    def predict(
        self,
        head: Names | None = None,
        relation: Names | None = None,
        tail: Names | None = None,
        *,
        k: int = 10,
        exclude_known: bool = True,
        approximate: bool = False,
        output: Literal["frame", "list"] = "frame",
    ) -> Any:
        """The k best completions of a triple of which exactly two parts are given; lists ask many questions at once.

        Returns a polars frame (or a list of dicts) with head, relation, tail and score, best first within each
        question; label columns are added where the graph has labels. `exclude_known` leaves out facts of the graph.
        A calibrated model adds `probability`, of the triple, and `first_is_right`, in the first row of each question
        for an entity: the probability that this answer is right if the graph lacks one. `approximate` asks the index
        of the model for entities, which may miss some; `first_is_right` needs all scores and is not given then.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        given = {"head": head, "relation": relation, "tail": tail}
        missing = [part for part, names in given.items() if names is None]
        if len(missing) != 1:
            lacking = f"{' and '.join(missing)} missing" if missing else "all three are given"
            raise UsageError(f"give two of head, relation and tail to ask for the third: {lacking}")
        asked = missing[0]
        vocabularies = self._vocabularies
        ids = {part: to_ids(vocabularies[part], names) for part, names in given.items() if names is not None}
        first, second = broadcast(*ids.values())
        ids = dict(zip(ids, (first, second), strict=True))
        signs: list[npt.NDArray[np.float64]] = []
        if asked == "relation":
            question, answer, score = self._best_relations(ids["head"], ids["tail"], k, exclude_known)
        else:
            side, entity = (TAIL, ids["head"]) if asked == "tail" else (HEAD, ids["tail"])
            questions = entity, ids["relation"], np.full(len(entity), side)
            question, answer, score = (
                self.approximate_entities(*questions, k, exclude_known)
                if approximate
                else self.best_entities(*questions, k, exclude_known, signs)
            )
        columns = {asked: answer, **{part: values[question] for part, values in ids.items()}}
        triples = np.stack([columns[part] for part in vocabularies], 1)
        table = {**self._names(triples), "score": pl.Series(score)}
        if self.calibrated is not None:
            table["probability"] = pl.Series(self.probabilities(triples))
            if signs:
                first = np.append(True, question[1:] != question[:-1]) if len(question) else np.empty(0, bool)
                right = self.calibrated.of_first.probabilities(np.concatenate(signs))[question]
                table["first_is_right"] = pl.Series(np.where(first, right, np.nan), nan_to_null=True)
        frame = pl.DataFrame(table)
        return frame if output == "frame" else frame.to_dicts()

    @property
    def _vocabularies(self) -> dict[str, Vocabulary]:
        return {"head": self.graph.entities, "relation": self.graph.relations, "tail": self.graph.entities}

    def named(self, triples: Ids) -> pl.DataFrame:
        """Names of triples (n, 3), and labels where the graph has them."""
        return pl.DataFrame(self._names(triples))

    def _names(self, triples: Ids) -> dict[str, pl.Series]:
        columns = dict(zip(self._vocabularies.items(), triples.T, strict=True))
        # Indexing costs microseconds where `gather` starts a query engine.
        names = {part: vocabulary.names[ids] for (part, vocabulary), ids in columns.items()}
        for (part, vocabulary), ids in columns.items():
            if vocabulary.labels is not None:
                names[f"{part}_label"] = pl.Series([vocabulary.label(i) for i in ids], dtype=pl.String)
        return names

    def probabilities(self, triples: Ids) -> npt.NDArray[np.float64]:
        """(n,) for triples (n, 3) of ids; what is not calibrated has none."""
        raise UsageError("probabilities need a calibrated model")

    def best_entities(
        self,
        entity: Ids,
        relation: Ids,
        side: Ids,
        k: int,
        exclude_known: bool,
        signs: list[npt.NDArray[np.float64]] | None = None,
    ) -> Found:
        """Question, answer and score; `signs` takes what calibrated lists say about their first entries."""
        block = queries_at_a_time(self.ranker.n_entities, self.memory_mb)
        parts = []
        for start in range(0, len(entity), block):
            questions = tuple(part[start : start + block] for part in (entity, relation, side))
            scores = self.ranker.scores(*questions).t()
            if exclude_known:
                known = self.known.answers_of(self.known.find(*questions))
                scores[torch.from_numpy(known.row), torch.from_numpy(known.entity)] = -torch.inf
                if self.calibrated is not None and signs is not None:
                    signs.append(signs_of(scores.t()))
            question, answer, score = _top(scores, k)
            parts.append((question + start, answer, score))
        questions, answers, best = zip(*parts, strict=True)
        return np.concatenate(questions), np.concatenate(answers), np.concatenate(best)

    def approximate_entities(self, entity: Ids, relation: Ids, side: Ids, k: int, exclude_known: bool) -> Found:
        """The same from an index; what has none cannot."""
        raise UsageError("only trained models have an index for approximate answers: ask without approximate")

    def _best_relations(self, head: Ids, tail: Ids, k: int, exclude_known: bool) -> Found:
        scores = self.relation_scores(head, tail)
        if exclude_known:
            pair, relation = self.known_relations(head, tail)
            scores[torch.from_numpy(pair), torch.from_numpy(relation)] = -torch.inf
        return _top(scores, k)

    def known_relations(self, head: Ids, tail: Ids) -> tuple[Ids, Ids]:
        """(pair, relation) wherever the graph holds the relation between a pair of head and tail."""
        pairs, relations = np.indices((len(head), len(self.graph.relations))).reshape(2, -1)
        known = self.known.answers_of(self.known.find(head[pairs], relations, np.full_like(relations, TAIL)))
        facts = known.row[known.entity == tail[pairs[known.row]]]
        return pairs[facts], relations[facts]

    @property
    def known(self) -> Queries:
        """Every fact of the graph, by question; built at the first use."""
        if self._known is None:
            self._known = Queries.of(self.graph.facts, len(self.graph.entities), len(self.graph.relations))
        return self._known


def to_ids(vocabulary: Vocabulary, names: Names) -> Ids:
    if isinstance(names, str):
        return np.array([vocabulary.id(names)])
    names = list(names) if isinstance(names, Iterable) else [names]
    odd = [name for name in names if not isinstance(name, str)]
    if odd or not names:
        found = repr(odd[0]) if odd else "an empty list"
        raise UsageError(f"expected the name of one {vocabulary.kind} or a list of names, not {found}")
    return vocabulary.ids(names)


def broadcast(*parts: Ids) -> list[Ids]:
    sizes = {len(part) for part in parts} - {1}
    if len(sizes) > 1:
        raise UsageError(f"lists of names must have the same length, not {' and '.join(map(str, sorted(sizes)))}")
    return [part.copy() for part in np.broadcast_arrays(*parts)]


def _top(scores: torch.Tensor, k: int) -> Found:
    """(question, answer, score) of the k best finite scores of each row, best first."""
    score, answer = scores.topk(min(k, scores.shape[1]), dim=1)
    question = torch.arange(len(scores)).unsqueeze(1).expand_as(answer)
    kept = score > -torch.inf
    return question[kept].numpy(), answer[kept].numpy(), score[kept].numpy()
