"""Why a model says what it says about a triple, and what it knows of a relation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from eras.evaluation.ranking import rank
from eras.graph import relation_patterns
from eras.graph.queries import HEAD, TAIL, Queries
from eras.models import BlockBilinear, KnowledgeModel
from eras.models.facts import Term, fact_scores, fact_terms
from eras.scoring import Structure

if TYPE_CHECKING:
    from eras.store.model import Model
    from eras.store.rules import RuleModel

SIMILAR = 5
PAIRS_ASKED = 500
"""Facts of a relation that are asked for what it is confused with, at most."""


@dataclass(frozen=True)
class Rank:
    """Of the right answer among the candidates, other known answers left out; low … high under ties."""

    low: int
    high: int
    candidates: int


@dataclass(frozen=True)
class SimilarFact:
    """A training fact of the same relation; similarity is the mean cosine of its head and tail with the claim's."""

    head: str
    tail: str
    similarity: float


@dataclass(frozen=True)
class Explanation:
    """A claim as the model sees it. `terms` add up to `score`; models that are no block structure have none.

    score: of the triple as a fact, the mean of its two questions' scores, which are tail_score and head_score.
    known: the split of the graph that holds the claim, or None.
    """

    head: str
    relation: str
    tail: str
    known: str | None
    score: float
    tail_score: float
    head_score: float
    tail_rank: Rank
    head_rank: Rank
    probability: float | None
    group: int | None
    structure: Structure | None
    terms: tuple[Term, ...]
    similar: tuple[SimilarFact, ...]
    because: tuple[dict[str, Any], ...] | None

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **plain,
            "tail_rank": asdict(self.tail_rank),
            "head_rank": asdict(self.head_rank),
            "structure": None if self.structure is None else self.structure.to_json(),
            "terms": [{**term._asdict(), **_counted_from_one(term)} for term in self.terms],
            "similar": [asdict(fact) for fact in self.similar],
            "because": None if self.because is None else list(self.because),
        }


def _counted_from_one(term: Term) -> dict[str, int]:
    return {"head": term.head + 1, "relation": term.relation + 1, "tail": term.tail + 1}


def explain(model: Model, head: str, relation: str, tail: str, rules: RuleModel | None) -> Explanation:
    graph, scorer = model.graph, model.scorer
    h, t = (graph.entities.id(name) for name in (head, tail))
    r = graph.relations.id(relation)
    claim = np.array([[h, r, t]])
    score = float(fact_scores(scorer, claim)[0])
    group, structure, _ = _place(scorer, r)
    tail_rank, head_rank = _ranks(model, claim)
    names = graph.entities.name(h), graph.relations.name(r), graph.entities.name(t)
    splits = {split: (graph.split(split) == claim[0]).all(1).any() for split in ("train", "valid", "test")}
    return Explanation(
        *names,
        known=next((split for split, holds in splits.items() if holds), None),
        score=score,
        tail_score=float(scorer.score(claim, TAIL)[0]),
        head_score=float(scorer.score(claim, HEAD)[0]),
        tail_rank=tail_rank,
        head_rank=head_rank,
        probability=(
            None
            if model.calibrated is None
            else float(model.calibrated.of_facts.probabilities(np.array([score]), claim[:, 1])[0])
        ),
        group=group,
        structure=structure,
        terms=tuple(fact_terms(scorer, h, r, t)) if isinstance(scorer, BlockBilinear) else (),
        similar=tuple(_similar(model, h, r, t)),
        because=None if rules is None else tuple(reason.to_json() for reason in rules.because(*names)),
    )


def _place(scorer: KnowledgeModel, r: int) -> tuple[int | None, Structure | None, list[int]]:
    """The relation's group, counted from 1, its structure, and the other relations there; other models have none."""
    if not isinstance(scorer, BlockBilinear):
        return None, None, []
    group = int(scorer.groups[r])
    beside = [int(i) for i in np.flatnonzero(scorer.groups == group) if i != r]
    return group + 1, scorer.function.structures[group], beside


def _ranks(model: Model, claim: np.ndarray) -> tuple[Rank, Rank]:
    sizes = len(model.graph.entities), len(model.graph.relations)
    (head, relation, tail), facts = claim[0], model.graph.facts
    near = facts[(facts[:, 1] == relation) & ((facts[:, 0] == head) | (facts[:, 2] == tail))]
    known = Queries.of(np.concatenate([near, claim]), *sizes)
    table = rank(model.ranker, Queries.of(claim, *sizes), known, memory_mb=model.memory_mb)
    by_side = {row["side"]: Rank(row["low"], row["high"], row["candidates"]) for row in table.iter_rows(named=True)}
    return by_side["tail"], by_side["head"]


def _similar(model: Model, h: int, r: int, t: int) -> list[SimilarFact]:
    train = model.graph.train
    facts = train[(train[:, 1] == r) & ~((train[:, 0] == h) & (train[:, 2] == t))]
    if not len(facts):
        return []
    entities = model.scorer.tables["entities"]
    cosines = [torch.cosine_similarity(entities, entities[own], dim=1) for own in (h, t)]
    heads, tails = (torch.from_numpy(facts[:, column].astype(np.int64)) for column in (0, 2))
    similarity = ((cosines[0][heads] + cosines[1][tails]) / 2).cpu()
    value, position = similarity.topk(min(SIMILAR, len(facts)))
    name = model.graph.entities.name
    return [
        SimilarFact(name(facts[i, 0]), name(facts[i, 2]), float(v))
        for i, v in zip(position.tolist(), value.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class RelationProfile:
    """A relation as the graph and the model see it.

    confused_with: other relations that the model holds more likely, and for what share of the relation's own pairs;
    asked_of: how many pairs were asked, and of which split.
    """

    relation: str
    triples: int
    pattern: str
    symmetry: float | None
    inverse: str | None
    inverse_rate: float | None
    cardinality: str | None
    tails_per_head: float | None
    heads_per_tail: float | None
    group: int | None
    structure: Structure | None
    shares_group_with: tuple[str, ...]
    asked_of: str
    confused_with: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **plain,
            "structure": None if self.structure is None else self.structure.to_json(),
            "shares_group_with": list(self.shares_group_with),
            "confused_with": list(self.confused_with),
        }


def explain_relation(model: Model, relation: str) -> RelationProfile:
    graph, scorer = model.graph, model.scorer
    r = graph.relations.id(relation)
    facts = relation_patterns(graph.facts, len(graph.relations)).row(r, named=True)
    group, structure, beside = _place(scorer, r)
    asked_of, confused = _confused(model, r)
    name = graph.relations.name
    return RelationProfile(
        name(r),
        **{key: facts[key] for key in ("triples", "pattern", "symmetry")},
        inverse=None if facts["inverse"] is None else name(facts["inverse"]),
        **{key: facts[key] for key in ("inverse_rate", "cardinality", "tails_per_head", "heads_per_tail")},
        group=group,
        structure=structure,
        shares_group_with=tuple(map(name, beside)),
        asked_of=asked_of,
        confused_with=tuple(confused),
    )


def _confused(model: Model, r: int) -> tuple[str, list[dict[str, Any]]]:
    """Which relations beat r between its own held-out pairs (its training pairs where it has none).

    Scores of different relations are comparable once calibrated; a relation that holds between the pair is no error.
    """
    graph = model.graph
    split = next((s for s in ("valid", "train") if (graph.split(s)[:, 1] == r).any()), None)
    if split is None:
        return "no pairs: the relation has no facts", []
    own = graph.split(split)
    own = own[own[:, 1] == r]
    own = own[np.linspace(0, len(own) - 1, min(len(own), PAIRS_ASKED)).astype(np.int64)]
    head, tail = own[:, 0].astype(np.int64), own[:, 2].astype(np.int64)
    scores = model.relation_scores(head, tail).cpu().double().numpy()
    if model.calibrated is not None:
        every = np.broadcast_to(np.arange(len(graph.relations)), scores.shape)
        scores = model.calibrated.of_facts.logits(scores, every)
    above = scores > scores[:, [r]]
    above[model.known_relations(head, tail)] = False
    share = above.mean(0)
    order = [int(i) for i in np.argsort(-share, kind="stable")[:SIMILAR] if share[i] > 0]
    pairs = f"{len(own):,} {'validation' if split == 'valid' else 'training'} pairs"
    return pairs, [{"relation": graph.relations.name(i), "share": float(share[i])} for i in order]
