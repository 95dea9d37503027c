"""What `import eras` offers for work, from fitting to evaluation. The command line is a thin face of this."""

from __future__ import annotations

from pathlib import Path

from eras.api.comparing import Comparison, compare, resume_comparison
from eras.api.fitting import NOBODY, Watchers, fit, resume_fit
from eras.api.searching import SearchResult, resume_search, search_function
from eras.api.training import evaluate, resume_training, train
from eras.store import Predictor
from eras.store.directory import read_manifest

__all__ = [
    "Comparison",
    "SearchResult",
    "Watchers",
    "compare",
    "evaluate",
    "fit",
    "resume",
    "search_function",
    "train",
]


def resume(folder: str | Path, *, watchers: Watchers = NOBODY) -> Predictor | SearchResult | Comparison:
    """Go on with a run, search, fit, comparison or learning that was stopped or killed; what has ended is loaded."""
    folder = Path(folder)
    kind = read_manifest(folder).get("kind", "train")
    if kind == "search":
        return resume_search(folder, watch=watchers.on_search)
    if kind == "compare":
        return resume_comparison(folder, watch=watchers.on_search)
    if kind == "rules":
        from eras.api.rules import resume_rules

        return resume_rules(folder)
    if kind == "fit":
        return resume_fit(folder, watchers=watchers)
    return resume_training(folder, on_step=watchers.on_step)
