"""A trained model as its user meets it: names in, names out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from torch import Tensor

from eras.errors import UnknownNameError, UsageError
from eras.evaluation.calibration import METHODS, Method, sigmoid
from eras.evaluation.discovery import Discovery
from eras.files import read_json
from eras.graph import Graph
from eras.models import Function, KnowledgeModel
from eras.models.facts import fact_scores
from eras.models.points import question_points
from eras.store.calibration import Calibrated, read_calibration
from eras.store.directory import read_model
from eras.store.explanation import Explanation, RelationProfile, explain, explain_relation
from eras.store.index import EntityIndex, Found, Ids, read_index
from eras.store.indexing import build_index, index_metric
from eras.store.judging import Classification, calibrate, classify
from eras.store.predictor import Names, Predictor, broadcast, to_ids
from eras.store.rounding import round_tables
from eras.store.unseen import with_entity
from eras.training.config import TrainConfig

if TYPE_CHECKING:
    from eras.store.rules import RuleModel


class Model(Predictor):
    """A trained scoring function over a graph. `Model.load(folder)` reads one and needs nothing beside the folder.

    With reciprocal relations a question has its own direction: `score` and tail predictions use the tail direction,
    head predictions the head direction, relation predictions the mean of both.
    """

    def __init__(
        self,
        scorer: KnowledgeModel,
        function: Function,
        graph: Graph,
        config: TrainConfig,
        metrics: dict[str, Any],
        folder: Path | None = None,
    ) -> None:
        super().__init__(scorer, graph, metrics, config.memory_mb, folder)
        self.scorer = scorer
        self.function = function
        self.config = config
        self._index: EntityIndex | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        folder = Path(folder)
        scorer, function, graph, config = read_model(folder)
        model = cls(scorer, function, graph, config, read_json(folder / "metrics.json"), folder)
        model.calibrated = read_calibration(folder, graph.relations)
        return model

    def __repr__(self) -> str:
        return f"<Model {self.function.name or 'function'} on {self.graph.name}: dim {self.scorer.dim}>"

    def embedding(self, name: str, kind: Literal["entity", "relation"] = "entity") -> npt.NDArray[np.float32]:
        """The vector of an entity, or of a relation in its tail direction; a matrix comes row by row."""
        if kind not in ("entity", "relation"):
            raise UnknownNameError("kind of embedding", kind, ("entity", "relation"))
        vocabulary = self.graph.entities if kind == "entity" else self.graph.relations
        vector: npt.NDArray[np.float32] = self.scorer.vector(kind, vocabulary.id(name)).cpu().numpy().copy()
        return vector

    def score(self, head: Names, relation: Names, tail: Names) -> float | npt.NDArray[np.float32]:
        """The score of a triple, or of many: names broadcast against lists of names."""
        triples, single = self._triples(head, relation, tail)
        scores: npt.NDArray[np.float32] = self.scorer.score(triples).cpu().numpy()
        return float(scores[0]) if single else scores

    def relation_scores(self, head: Ids, tail: Ids) -> Tensor:
        return self.scorer.relation_scores(head, tail)

    def probability(self, head: Names, relation: Names, tail: Names) -> float | npt.NDArray[np.float64]:
        """How probable a triple is, or each of many; the model must be calibrated."""
        triples, single = self._triples(head, relation, tail)
        found = self.probabilities(triples)
        return float(found[0]) if single else found

    def probabilities(self, triples: Ids) -> npt.NDArray[np.float64]:
        if self.calibrated is None:
            raise UsageError("this model is not calibrated: call calibrate() first, or run `eras calibrate RUN`")
        return self.calibrated.of_facts.probabilities(fact_scores(self.scorer, triples), triples[:, 1])

    def calibrate(
        self,
        valid: str | Path | None = None,
        *,
        method: Method = "platt",
        seed: int = 0,
        skip_unknown: bool = False,
    ) -> Calibrated:
        """Fit probabilities on labelled triples, or on validation and false triples made for it; kept in the folder.

        Args:
            valid: a file of head, relation, tail and 0 / 1.
            method: `platt`, or `isotonic` for relations with many labels.
            seed: decides the false triples.
            skip_unknown: leave out triples with names that the graph does not know.
        """
        if method not in METHODS:
            raise UnknownNameError("method of calibration", method, METHODS)
        self.calibrated = calibrate(self, valid, method, seed, skip_unknown)
        if self.folder is not None:
            self.calibrated.save(self.folder, self.graph.relations)
        return self.calibrated

    def build_index(self, recall: float = 0.95, *, seed: int = 0) -> EntityIndex:
        """Make the index that `predict(..., approximate=True)` asks; kept in the folder.

        Args:
            recall: the share of the ten best answers that must be found, measured on validation questions.
            seed: decides where the centres of the lists begin.
        """
        self._index = build_index(self, recall, seed)
        if self.folder is not None:
            self._index.save(self.folder)
        return self._index

    @property
    def index(self) -> EntityIndex:
        """The index of the entities' vectors; read at the first use."""
        if self._index is None:
            index_metric(self)
            if self.folder is None:
                raise UsageError("this model has no index for approximate answers: call build_index() first")
            self._index = read_index(self.folder, self.scorer)
        return self._index

    @property
    def has_index(self) -> bool:
        """Whether an index is in memory; there may be one in the folder that was not asked for yet."""
        return self._index is not None

    def approximate_entities(self, entity: Ids, relation: Ids, side: Ids, k: int, exclude_known: bool) -> Found:
        return self.near_entities(self.index, entity, relation, side, k, exclude_known)

    def near_entities(
        self, index: EntityIndex, entity: Ids, relation: Ids, side: Ids, k: int, exclude_known: bool
    ) -> Found:
        """Question, answer and score, as an index finds them."""
        nowhere = np.full(len(entity), -1)
        known = self.known.answers_of(self.known.find(entity, relation, side) if exclude_known else nowhere)
        return index.best(question_points(self.scorer, entity, relation, side), k, known)

    def classify(
        self,
        valid: str | Path | None = None,
        test: str | Path | None = None,
        *,
        seed: int = 0,
        skip_unknown: bool = False,
    ) -> Classification:
        """True or false? Thresholds are chosen on labelled validation triples and judged on test; see `calibrate`."""
        return classify(self, valid, test, seed, skip_unknown)

    def explain(self, head: str, relation: str, tail: str, *, rules: RuleModel | None = None) -> Explanation:
        """Rank, probability, block terms and similar facts of a claim, and the rules that support it."""
        return explain(self, head, relation, tail, rules)

    def explain_relation(self, relation: str) -> RelationProfile:
        """Group, structure and pattern of a relation, and what it is confused with."""
        return explain_relation(self, relation)

    def discover(
        self,
        relation: Names | None = None,
        *,
        top: int = 1000,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> pl.DataFrame:
        """The most probable triples that the graph does not hold, best first; by score if the model is not calibrated.

        Entities without a training fact are left out: nothing is known about them, and their scores say so little that
        they may be the highest.
        Returns head, relation, tail, score and probability, with labels where the graph has them. Probabilities are
        Platt's, whatever the method of calibration: isotonic curves are level in places.
        """
        if top < 1:
            raise UsageError(f"top must be at least 1, not {top}")
        relations = self.graph.relations
        asked = np.arange(len(relations)) if relation is None else np.unique(to_ids(relations, relation))
        intercept, slope = np.zeros(len(relations)), np.ones(len(relations))
        if self.calibrated is not None:
            intercept, slope = self.calibrated.of_facts.intercept, self.calibrated.of_facts.slope
        trained = np.unique(self.graph.train[:, [0, 2]]).astype(np.int64)
        search = Discovery(self.scorer, self.graph.facts, trained, top, intercept, slope)
        triples, logits = search.run(asked, on_progress)
        score = (logits - intercept[triples[:, 1]]) / slope[triples[:, 1]]
        frame = self.named(triples).with_columns(pl.Series("score", score))
        if self.calibrated is None:
            return frame
        return frame.with_columns(pl.Series("probability", sigmoid(logits)))

    def add_entity(self, name: str, facts: Sequence[tuple[str, str, str]]) -> None:
        """Embed an entity that the graph does not have from facts about it; nothing else of the model changes.

        Args:
            name: of the new entity.
            facts: triples of names, each with the new entity as head or as tail.
        """
        self.scorer, self.graph = with_entity(self.scorer, self.function, self.graph, name, facts)
        round_tables(self.scorer, self.config)
        self.ranker, self._known, self._index = self.scorer, None, None
        self.folder = None  # what is on disk there does not have the entity

    def _triples(self, head: Names, relation: Names, tail: Names) -> tuple[Ids, bool]:
        """Ids (n, 3) of triples given by name, and whether one name was given for each part."""
        parts = zip((head, relation, tail), ("entities", "relations", "entities"), strict=True)
        ids = broadcast(*(to_ids(getattr(self.graph, kind), names) for names, kind in parts))
        return np.stack(ids, 1), all(isinstance(names, str) for names in (head, relation, tail))
