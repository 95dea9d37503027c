from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eras.graph.planted import Plan, plant
from eras.graph.queries import Queries
from eras.models import BlockBilinear
from eras.scoring import ScoringFunction
from eras.search.estimators.supernet import Supernet
from eras.search.space import Space
from eras.training import TrainConfig
from eras.training.batches import make_batch
from eras.training.step import loss_and_gradients
from eras.training.workspace import Workspace

VIEW = plant(Plan(entities=40, triples_per_relation=30), 0).graph.training_view()
QUERIES = Queries.of(VIEW.train, len(VIEW.entities), len(VIEW.relations))


def gradients_of(model: BlockBilinear, picked: np.ndarray) -> tuple[float, list[torch.Tensor], int]:
    """The loss, the gradients of entities and relations, and the number of answers."""
    batch = make_batch(model, QUERIES, picked)
    config = TrainConfig(reg_weight=0.1)
    loss, penalty, gradients = loss_and_gradients(model, batch, config, Workspace(len(picked), 64))
    return float(loss + penalty), [gradient.values for gradient in gradients.values()], batch.n_answers


@settings(max_examples=20)
@given(
    U=st.integers(1, 5), M=st.integers(2, 4), N=st.integers(1, 3), reciprocal=st.booleans(), seed=st.integers(0, 999)
)
def test_a_mixed_batch_is_its_rows_under_their_own_candidates(
    U: int, M: int, N: int, reciprocal: bool, seed: int
) -> None:
    """Row i under candidate i mod U: the sum of U plain batches, each of the rows of one candidate."""
    rng = np.random.default_rng(seed)
    candidates = [Space(M, N).sample(rng) for _ in range(U)]
    groups = rng.integers(N, size=len(VIEW.relations))
    supernet = Supernet(VIEW, groups, candidates, 2 * M, reciprocal)
    supernet.initialise(seed, "normal", 0.5)
    picked = rng.permutation(len(QUERIES))[: 4 * U]
    mixed_loss, mixed, n = gradients_of(supernet, picked)

    names = VIEW.relations.names.to_list()
    loss, gradients = 0.0, [torch.zeros_like(gradient) for gradient in mixed]
    for u, candidate in enumerate(candidates):
        function = ScoringFunction(candidate, dict(zip(names, groups.tolist(), strict=True)))
        plain = BlockBilinear(function, names, len(VIEW.entities), 2 * M, reciprocal=reciprocal)
        plain.entities, plain.relations = supernet.entities, supernet.relations
        part_loss, part, part_n = gradients_of(plain, picked[u::U])
        loss += part_loss * part_n / n
        for gradient, mine in zip(gradients, part, strict=True):
            gradient += mine * part_n / n
    torch.testing.assert_close(torch.tensor(mixed_loss), torch.tensor(loss), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mixed, gradients, rtol=1e-3, atol=1e-5)


def test_a_played_candidate_scores_alone() -> None:
    rng = np.random.default_rng(0)
    first, second = Space(4, 2).sample(rng), Space(4, 2).sample(rng)
    groups = rng.integers(2, size=len(VIEW.relations))
    supernet = Supernet(VIEW, groups, [first, second], 8, True)
    supernet.initialise(0, "normal", 0.5)
    supernet.play([second])
    alone = BlockBilinear(
        ScoringFunction(second, dict(zip(VIEW.relations.names, groups.tolist(), strict=True))),
        VIEW.relations.names.to_list(),
        len(VIEW.entities),
        8,
        reciprocal=True,
    )
    alone.entities, alone.relations = supernet.entities, supernet.relations
    q = (QUERIES.entity[:20], QUERIES.relation[:20], QUERIES.side[:20])
    torch.testing.assert_close(supernet.queries(*q), alone.queries(*q))
