"""A trained model as its user meets it: names in, names out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from eras.errors import UnknownNameError
from eras.files import read_json
from eras.graph import Graph
from eras.models import Function, KnowledgeModel
from eras.store.directory import read_model
from eras.store.predictor import Ids, Names, Predictor, broadcast, to_ids
from eras.training.config import TrainConfig


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

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        folder = Path(folder)
        scorer, function, graph, config = read_model(folder)
        return cls(scorer, function, graph, config, read_json(folder / "metrics.json"), folder)

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
        h, r, t = broadcast(
            to_ids(self.graph.entities, head),
            to_ids(self.graph.relations, relation),
            to_ids(self.graph.entities, tail),
        )
        scores: npt.NDArray[np.float32] = self.scorer.score(np.stack([h, r, t], 1)).cpu().numpy()
        single = all(isinstance(names, str) for names in (head, relation, tail))
        return float(scores[0]) if single else scores

    def relation_scores(self, head: Ids, tail: Ids) -> Tensor:
        return self.scorer.relation_scores(head, tail)
