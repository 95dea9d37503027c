"""AutoML for knowledge graph embedding: find, train, judge and serve the scoring function that fits your graph.

import eras

graph = eras.load_graph("umls")
model = eras.train(graph, function="complex")
model.predict(head="virus", relation="causes", k=5)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from eras._version import __version__

if TYPE_CHECKING:
    from eras.api import Comparison, SearchResult, compare, evaluate, fit, resume, search_function, train
    from eras.api.rules import learn_rules
    from eras.api.saving import save_model
    from eras.errors import ErasError
    from eras.evaluation import Evaluation
    from eras.graph import Graph, load_graph
    from eras.scoring import ScoringFunction, Structure, load_function
    from eras.store import Model
    from eras.store.rules import RuleModel
    from eras.training import TrainConfig

# Loaded at the first use, so that `import eras` and `eras --help` do not wait for torch.
_HOMES = {
    "Comparison": "eras.api",
    "ErasError": "eras.errors",
    "Evaluation": "eras.evaluation",
    "Graph": "eras.graph",
    "Model": "eras.store",
    "RuleModel": "eras.store.rules",
    "ScoringFunction": "eras.scoring",
    "SearchResult": "eras.api",
    "Structure": "eras.scoring",
    "TrainConfig": "eras.training",
    "compare": "eras.api",
    "evaluate": "eras.api",
    "fit": "eras.api",
    "learn_rules": "eras.api.rules",
    "load_function": "eras.scoring",
    "load_graph": "eras.graph",
    "resume": "eras.api",
    "save_model": "eras.api.saving",
    "search_function": "eras.api",
    "train": "eras.api",
}

__all__ = [
    "Comparison",
    "ErasError",
    "Evaluation",
    "Graph",
    "Model",
    "RuleModel",
    "ScoringFunction",
    "SearchResult",
    "Structure",
    "TrainConfig",
    "__version__",
    "compare",
    "evaluate",
    "fit",
    "learn_rules",
    "load_function",
    "load_graph",
    "resume",
    "save_model",
    "search_function",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'eras' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
