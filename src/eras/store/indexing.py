"""Making an index: lists of vectors, and how many of them a question must look into for the recall that is wanted.

That number is found without trying. For each exact answer it is known in which list it lies, and at which place that
list comes when the question ranks the lists; recall at p lists is the share of answers whose list is among the first p.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from eras.errors import DataError, DivergedError, UsageError
from eras.graph.queries import Queries
from eras.models.base import Metric
from eras.models.points import entity_points, metric_of, question_points
from eras.store.index import EntityIndex, Ids, Questions, fingerprint, load_faiss

if TYPE_CHECKING:
    from eras.store.model import Model

LISTS = 2.0
"""Lists, in square roots of the number of entities; with 1 to 4 the time at equal recall is about the same."""

QUESTIONS = 2000
"""Validation questions that recall is measured on, at most."""

DEPTHS = (1, 10, 100)
JUDGED = 10
"""Recall of the first ten answers decides."""

TIMED, SECONDS = 200, 2.0
"""Questions that are timed, and the longest that timing one way may take."""


def build_index(model: Model, recall: float, seed: int) -> EntityIndex:
    if not 0 < recall <= 1:
        raise UsageError(f"recall must be above 0 and at most 1, not {recall:g}")
    if not 0 <= seed < 2**31:
        raise UsageError(f"the seed of an index must be from 0 to {2**31 - 1}, not {seed}")
    metric = index_metric(model)
    load_faiss()
    if not len(model.graph.valid):
        raise DataError(f"the graph {model.graph.name!r} has no validation triples to measure recall on")
    points = np.ascontiguousarray(entity_points(model.scorer).cpu().numpy(), dtype=np.float32)
    if not np.isfinite(points).all():
        raise DivergedError("the model's vectors are not finite: it cannot be indexed")
    asked = _questions(model)
    start = time.perf_counter()
    lists = _inverted_file(points, metric, seed)
    seconds = time.perf_counter() - start
    depth = _lists_needed(model, asked, lists)
    judged = np.sort(depth[:, :JUDGED][depth[:, :JUDGED] > 0])
    if not len(judged):
        raise DataError("the graph holds every answer to its validation questions: there is none to measure recall on")
    probes = int(judged[math.ceil(recall * len(judged)) - 1])
    about: dict[str, Any] = {
        "entities": len(points),
        "width": points.shape[1],
        "lists": lists.nlist,
        "target": recall,
        "seed": seed,
        "questions": len(asked[0]),
        **{f"recall@{k}": float((depth[:, :k][depth[:, :k] > 0] <= probes).mean()) for k in DEPTHS},
        "bytes": points.nbytes + 8 * len(points) + 4 * lists.nlist * points.shape[1],
        "seconds": round(seconds, 3),
    }
    index = EntityIndex(lists, metric, probes, fingerprint(model.scorer), about)
    about.update(_times(model, index, asked))
    return index


def index_metric(model: Model) -> Metric:
    """How the vectors of a model are compared; a model that compares in a way of its own is refused."""
    metric = metric_of(model.scorer)
    if metric is None:
        raise UsageError(
            f"{model.function.name or 'this function'} cannot be indexed: its score is neither a product nor a "
            "Euclidean distance of two vectors, so its predictions are always exact"
        )
    return metric


def _questions(model: Model) -> Questions:
    """Entity, relation and side of questions that validation asks, spread evenly over all of them."""
    graph = model.graph
    asked = Queries.of(graph.valid, len(graph.entities), len(graph.relations))
    picked = np.unique(np.linspace(0, len(asked) - 1, min(len(asked), QUESTIONS)).astype(np.int64))
    return asked.entity[picked], asked.relation[picked], asked.side[picked]


def _inverted_file(points: npt.NDArray[np.float32], metric: Metric, seed: int) -> Any:
    faiss = load_faiss()
    n, width = points.shape
    number = max(1, min(round(LISTS * math.sqrt(n)), n // 4))
    product = metric == "product"
    centres = faiss.IndexFlatIP(width) if product else faiss.IndexFlatL2(width)
    kind = faiss.METRIC_INNER_PRODUCT if product else faiss.METRIC_L2
    lists = faiss.IndexIVFFlat(centres, width, number, kind)
    lists.cp.seed, lists.cp.min_points_per_centroid = seed, 1
    lists.train(points)
    lists.add(points)
    return lists


def _lists_needed(model: Model, asked: Questions, lists: Any) -> Ids:
    """(questions, 100): how many lists must be looked into to find each exact answer, best first; 0 beyond the last."""
    home = np.empty(lists.ntotal, np.int64)
    for number in range(lists.nlist):
        size = lists.invlists.list_size(number)
        if size:
            home[load_faiss().rev_swig_ptr(lists.invlists.get_ids(number), size)] = number
    questions = question_points(model.scorer, *asked).cpu().numpy().astype(np.float32)
    _, order = lists.quantizer.search(np.ascontiguousarray(questions), lists.nlist)
    place = order.argsort(1)
    question, answer, _ = model.best_entities(*asked, DEPTHS[-1], True)
    starts = np.searchsorted(question, np.arange(len(questions)))
    needed = np.zeros((len(questions), DEPTHS[-1]), np.int64)
    needed[question, np.arange(len(question)) - starts[question]] = place[question, home[answer]] + 1
    return needed


def _times(model: Model, index: EntityIndex, asked: Questions) -> dict[str, float]:
    """Milliseconds for the ten best answers of one question, on one thread."""
    ways: dict[str, Callable[[Questions], Any]] = {
        "ms_exact": lambda one: model.best_entities(*one, JUDGED, True),
        "ms_approximate": lambda one: model.near_entities(index, *one, JUDGED, True),
    }
    with _one_thread():
        return {name: round(_milliseconds(way, asked), 4) for name, way in ways.items()}


def _milliseconds(way: Callable[[Questions], Any], asked: Questions) -> float:
    """The median over single questions; the first one warms up."""
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    for i in np.linspace(0, len(asked[0]) - 1, TIMED).astype(np.int64).tolist():
        entity, relation, side = (part[i : i + 1] for part in asked)
        start = time.perf_counter()
        way((entity, relation, side))
        taken.append(time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return 1000 * float(np.median(taken[1:] or taken))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    faiss = load_faiss()
    before = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        faiss.omp_set_num_threads(before[1])
