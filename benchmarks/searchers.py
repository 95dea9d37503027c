"""What each way of searching finds in the same time: `python -m benchmarks.searchers umls --time 40`.

Every method searches each graph with several seeds. What it finds is then trained in full, with a training seed that no
search has seen, beside the hand-designed functions; the table holds the best validation MRR of those trainings,
filtered by what training may see. Nothing here looks at a test split.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from benchmarks.common import publish
from eras.api import search_function
from eras.api.fitting import HAND_DESIGNED
from eras.graph import load_graph
from eras.scoring import ScoringFunction
from eras.search.config import METHODS
from eras.search.estimators.standalone import StandAlone
from eras.search.start import hand_designed
from eras.training import recommend

EXTRA: dict[str, tuple[str, dict[str, Any]]] = {
    "eras, no finals": ("eras", {"finalists": 0}),
    "evolution, one group": ("evolution", {"groups": 1}),
}
TRAINING_SEED = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--methods", nargs="+", default=[*METHODS, *EXTRA])
    parser.add_argument("--time", type=float, default=40.0, help="seconds of a search")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=60, help="of a full training")
    arguments = parser.parse_args()
    for graph in arguments.graphs:
        compare(graph, arguments.methods, arguments.time, range(arguments.seeds), arguments.dim, arguments.epochs)


def compare(name: str, methods: list[str], seconds: float, seeds: range, dim: int, epochs: int) -> None:
    graph = load_graph(name)
    view = graph.training_view()
    functions = {(hand, 0): ScoringFunction([hand_designed(4)[hand]]) for hand in HAND_DESIGNED}
    for method in methods:
        base, extra = EXTRA.get(method, (method, {}))
        settings: dict[str, Any] = {"groups": min(3, len(view.relations)), **METHODS[base][0], **extra}
        for seed in seeds:
            found = search_function(graph, base, seconds=seconds, dim=dim, seed=seed, **settings)
            functions[method, seed] = found.function
            print(f"  {method}, seed {seed}: {found.tried} tried, reward {found.reward:.4f}", flush=True)
    judged: dict[tuple[str, int], list[float]] = {key: [] for key in functions}
    for training_seed in (TRAINING_SEED, TRAINING_SEED + 1):
        config = recommend(view, 4, dim=dim, epochs=epochs, seed=training_seed)
        trials = StandAlone(view, config).measure(list(functions.values()), epochs)
        for key, trial in zip(functions, trials, strict=True):
            judged[key].append(trial.mrr)
    results = {}
    for method in dict.fromkeys(method for method, _ in functions):
        means = [statistics.mean(mrrs) for (m, _), mrrs in judged.items() if m == method]
        results[method] = {"mrr": statistics.mean(means), "lowest": min(means), "highest": max(means)}
    about = {"graph": name, "seconds": seconds, "seeds": len(seeds), "dim": dim, "epochs": epochs}
    publish(f"searchers-{graph.name}", about, results)


if __name__ == "__main__":
    main()
