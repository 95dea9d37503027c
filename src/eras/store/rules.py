"""A set of rules as its user meets it: it predicts as a model does, and says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from eras.errors import FailureError, OutputError, UsageError
from eras.files import read_json
from eras.graph import Graph, read_graph
from eras.rules.config import RuleConfig
from eras.rules.ranker import Aggregation, Reason, RuleRanker
from eras.rules.ruleset import RuleSet
from eras.store.directory import read_manifest
from eras.store.index import Ids
from eras.store.predictor import Predictor

MEMORY_MB = 128
"""For blocks of scores, which are in double precision here and laid out twice."""


class RuleModel(Predictor):
    """Rules learned on a graph. `RuleModel.load(folder)` reads them and needs nothing beside the folder."""

    def __init__(
        self,
        rules: RuleSet,
        graph: Graph,
        config: RuleConfig,
        metrics: dict[str, Any],
        folder: Path | None = None,
        aggregation: Aggregation = "max",
    ) -> None:
        self.rules = rules
        self.config = config
        self._reasoner = RuleRanker(rules, graph.training_view(), aggregation)
        super().__init__(self._reasoner, graph, metrics, MEMORY_MB, folder)

    @classmethod
    def load(cls, folder: str | Path, aggregation: Aggregation = "max") -> RuleModel:
        folder = Path(folder)
        graph, rules = read_rules(folder)
        config = RuleConfig().updated(**read_json(folder / "config.json"))
        return cls(rules, graph, config, read_json(folder / "metrics.json"), folder, aggregation)

    def __repr__(self) -> str:
        return f"<RuleModel on {self.graph.name}: {len(self.rules):,} rules>"

    def because(self, head: str, relation: str, tail: str, k: int = 3) -> list[Reason]:
        """The k most trusted rules that predict a fact, each with the facts that let it."""
        entities = self.graph.entities.ids([head, tail])
        return self._reasoner.because(int(entities[0]), self.graph.relations.id(relation), int(entities[1]), k)

    def relation_scores(self, head: Ids, tail: Ids) -> Tensor:
        raise UsageError("rules answer for the head or the tail: give the relation, and one of the two")


def read_rules(folder: Path) -> tuple[Graph, RuleSet]:
    """The graph and the rules of a folder, as they are on disk."""
    manifest = read_manifest(folder)
    if manifest.get("kind") != "rules":
        raise OutputError(f"{folder} holds no rules: make some with `eras rules learn DATA`")
    if manifest.get("status") != "finished":
        raise FailureError(f"the rules in {folder} are not learned yet: go on with `eras resume {folder}`")
    graph = read_graph(folder)
    return graph, RuleSet.load(folder, graph.entities, graph.relations)
