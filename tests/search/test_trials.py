from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eras.errors import SettingError, StoppedError, UnknownNameError
from eras.evaluation.selection import Selection
from eras.files import Journal
from eras.graph.planted import Plan, plant
from eras.scoring import ScoringFunction
from eras.scoring.named import named
from eras.search.config import SearchConfig, method_config
from eras.search.estimators.standalone import Pace, StandAlone, Task, Trial, measure_pace, train_briefly
from eras.search.ladder import Ladder
from eras.search.plan import plan_search
from eras.search.race import Race
from eras.search.start import hand_designed, published
from eras.search.trials import TrialSearch
from eras.training import TrainConfig
from eras.training.stepper import BlockStepper

PLANTED = plant(Plan(entities=60, triples_per_relation=80), 0)
VIEW = PLANTED.graph.training_view()
TRAINING = TrainConfig(dim=16, batch_size=64, reg_weight=0.01)


def config_of(method: str = "evolution", **more: object) -> SearchConfig:
    settings = {
        "trials": 24,
        "generation": 6,
        "trial_epochs": 1,
        "finalists": 2,
        "most_epochs": 3,
        "training": TRAINING,
    }
    return method_config(method, **{**settings, **more})


def test_a_trial_is_the_same_in_any_company() -> None:
    functions = [named("complex"), named("distmult"), named("simple")]
    alone = [train_briefly(Task.of(VIEW), TRAINING, f, 2) for f in functions]
    together = list(StandAlone(VIEW, TRAINING, workers=2).measure(functions, 2))
    assert [t.mrr for t in together] == [t.mrr for t in alone]
    for trial in together:
        assert trial.by_relation.sum() / (2 * len(VIEW.valid)) == pytest.approx(trial.mrr)


def test_equivalent_functions_are_trained_once(tmp_path: Path) -> None:
    race = Race(StandAlone(VIEW, TRAINING, workers=1), Journal(tmp_path / "search.jsonl"))
    simple = hand_designed(4)["simple"]
    renamed = ScoringFunction([type(simple)([[-c for c in row] for row in simple.cells])])
    first, second = race.measure([ScoringFunction([simple]), renamed], 1)
    assert first.mrr == second.mrr
    assert len(race.journal.events("trial")) == 1
    again = Race(race.estimator, Journal(tmp_path / "search.jsonl"))
    assert again.measure([renamed], 1)[0].mrr == first.mrr
    assert len(again.journal.events("trial")) == 1


def test_replicas_share_the_facts_and_little_else() -> None:
    task = Task.of(VIEW)
    dealt = [task.dealt(replica) for replica in (0, 1, 1, 2)]
    facts = [sorted(map(tuple, np.concatenate([d.train, d.valid]).tolist())) for d in dealt]
    assert all(f == facts[0] for f in facts)
    assert all(len(d.valid) == len(task.valid) for d in dealt)
    held_out = [set(map(tuple, d.valid.tolist())) for d in dealt]
    assert dealt[0] is task
    assert held_out[1] == held_out[2]
    assert len({frozenset(held) for held in held_out}) == 3


def test_finals_are_decided_by_all_replicas_and_nobody_wins_by_the_first_trial(tmp_path: Path) -> None:
    race = Race(StandAlone(VIEW, TRAINING, workers=1), Journal(tmp_path / "search.jsonl"))
    functions = [ScoringFunction([s]) for s in list(hand_designed(4).values())[:4]]
    found = race.run(functions, Ladder(1, finalists=2, promotions=2, most_epochs=9, replicas=2))
    trials = race.journal.events("trial")
    assert [(t["epochs"], t["replica"]) for t in trials] == [
        *[(1, 0)] * 4, (9, 1), (9, 1), (9, 2), (9, 2), (9, 3), (9, 4)
    ]  # fmt: skip
    middle = {f: np.mean([race.known[f, 9, replica].mrr for replica in (1, 2)]) for f, e, _ in race.known if e == 9}
    assert found.function == max(middle, key=lambda f: middle[f])
    assert found.reward == np.mean([race.known[found.function, 9, replica].mrr for replica in (1, 2, 3, 4)])


def test_a_rival_loses_only_where_it_is_clearly_beaten(tmp_path: Path) -> None:
    """Two functions, three full trainings each, with made-up results."""
    best, rival = (ScoringFunction([hand_designed(4)[name]]) for name in ("complex", "simple"))
    ladder = Ladder(1, finalists=2, promotions=1, most_epochs=9, replicas=3)
    for ahead, winner in (((0.02, 0.03, 0.02), best), ((0.05, -0.01, 0.0), rival)):
        race = Race(StandAlone(VIEW, TRAINING, workers=1), Journal(tmp_path / f"{ahead[0]}.jsonl"))
        for function, by in ((best, ahead), (rival, (0.0, 0.0, 0.0))):
            results = {(1, 0): 0.3, **{(9, replica): 0.5 + by[replica - 1] for replica in (1, 2, 3)}}
            for (epochs, replica), mrr in results.items():
                race.known[function, epochs, replica] = Trial(mrr, np.zeros(1), 0.0)
        assert race.run([best, rival], ladder, [rival]).function == winner
        assert race.run([best, rival], ladder).function == best


def test_the_best_rival_has_a_place_in_the_finals_whatever_its_trial(tmp_path: Path) -> None:
    """Last by its trial, best in full: without the place it would never be trained in full."""
    *others, rival = (ScoringFunction([s]) for s in list(hand_designed(4).values())[:4])
    race = Race(StandAlone(VIEW, TRAINING, workers=1), Journal(tmp_path / "search.jsonl"))
    for place, function in enumerate([*others, rival]):
        race.known[function, 1, 0] = Trial(0.9 - 0.1 * place, np.zeros(1), 0.0)
        for replica in (1, 2):
            race.known[function, 9, replica] = Trial(0.8 if function == rival else 0.7, np.zeros(1), 0.0)
    ladder = Ladder(1, finalists=2, promotions=1, most_epochs=9, replicas=2)
    assert race.run([*others, rival], ladder, [rival]).function == rival
    assert race.run([*others, rival], ladder).function != rival


@pytest.mark.parametrize("rivals", [True, False])
def test_hand_designed_functions_run_in_the_finals(rivals: bool, tmp_path: Path) -> None:
    search = TrialSearch(VIEW, config_of("random", groups=1, trials=4, rivals=rivals), tmp_path, workers=1)
    found = search.run()
    tried = {function for function, _, _ in search.race.known}
    known = {ScoringFunction([s]) for s in hand_designed(4).values()}
    assert (known <= tried) == rivals
    assert found.function in tried


def test_a_search_with_a_time_limit_takes_up_its_clock_where_it_was(tmp_path: Path) -> None:
    config = config_of(trials=None, seconds=6.0)
    first = TrialSearch(VIEW, config, tmp_path, workers=1)
    with pytest.raises(StoppedError):
        first.run(should_stop=lambda: first.stage == "groups")
    before = Journal(tmp_path / "search.jsonl").events("generation")
    resumed = TrialSearch(VIEW, config, tmp_path, workers=1)
    resumed.run()
    after = Journal(tmp_path / "search.jsonl").events("generation")
    assert after[: len(before)] == before
    assert [e["elapsed"] for e in after] == sorted(e["elapsed"] for e in after)
    assert resumed.seconds < 15


@pytest.mark.parametrize("method", ["evolution", "policy", "autosf", "autosf-evolution", "random", "bayes"])
def test_a_search_that_was_stopped_trains_nothing_twice_and_ends_alike(method: str, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    expected = TrialSearch(VIEW, config_of(method), tmp_path / "whole", workers=1).run()
    trained = 0

    def stop() -> bool:
        nonlocal trained
        trained += 1
        return trained % 9 == 0

    while True:
        try:
            found = TrialSearch(VIEW, config_of(method), tmp_path / "cut", workers=1).run(should_stop=stop)
            break
        except StoppedError:
            pass
    assert trained > 9
    assert found == expected
    whole, cut = (Journal(tmp_path / name / "search.jsonl").events("trial") for name in ("whole", "cut"))
    assert [(e["function"], e["mrr"]) for e in cut] == [(e["function"], e["mrr"]) for e in whole]


def test_groups_start_from_the_best_single_structures_and_singles_stay_in_the_race(tmp_path: Path) -> None:
    found = TrialSearch(VIEW, config_of(groups=4), tmp_path, workers=1).run()
    journal = Journal(tmp_path / "search.jsonl")
    stages = [e["stage"] for e in journal.events("generation")]
    assert stages == sorted(stages, reverse=True), "single structures, then groups"
    assert set(stages) == {"single structures", "groups"}
    singles = journal.events("trial")[: len(published(4))]
    assert {str(ScoringFunction.from_json(e["function"]).structures[0]) for e in singles} == {
        str(s) for s in published(4).values()
    }
    longest = max(e["epochs"] for e in journal.events("trial"))
    assert found.reward == max(e["mrr"] for e in journal.events("trial") if e["epochs"] == longest)
    promoted = [e for e in journal.events("trial") if e["epochs"] == 3]
    briefly = {json.dumps(e["function"]): e["mrr"] for e in journal.events("trial") if e["epochs"] == 1}
    assert {json.dumps(e["function"]) for e in promoted} == set(sorted(briefly, key=lambda f: -briefly[f])[:2])


def test_published_structures_are_cut_to_any_number_of_blocks() -> None:
    assert set(published(2)) == {"distmult", "complex", "simple"}
    assert set(hand_designed(4)) == {"distmult", "complex", "simple", "analogy"} < set(published(4))
    assert set(published(5)) == {"distmult"}
    assert published(4)["complex"].cells == ((1, 2, 0, 0), (-2, 1, 0, 0), (0, 0, 3, 4), (0, 0, -4, 3))


def test_what_cannot_be_searched() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'evolution'"):
        method_config("evolutoin")
    with pytest.raises(SettingError, match="eras-n1 means groups = 1, not 3"):
        method_config("eras-n1", groups=3)
    with pytest.raises(SettingError, match=r"20 groups|1 to 8 groups"):
        plan_search(VIEW, "evolution", groups=20)
    small = plant(Plan(entities=60, triples_per_relation=80, symmetric=1, anti_symmetric=1, inverse_pairs=0), 0)
    with pytest.raises(SettingError, match="8 groups for 5 relations"):
        plan_search(small.graph.training_view(), "eras", groups=8)
    with pytest.raises(SettingError, match=r"1 s are too short .* at least \d+ s"):
        plan_search(VIEW, "evolution", seconds=1.0)
    for method, setting in (("eras", {"trials": 9}), ("evolution", {"epochs": 9}), ("evolution", {"grouping": "em"})):
        with pytest.raises(SettingError, match=r"setting of|needs a supernet"):
            plan_search(VIEW, method, **setting)
    with pytest.raises(SettingError, match="2 to 6 blocks"):
        plan_search(VIEW, "evolution", blocks=7)


def test_a_plan_fits_the_time_and_leaves_what_is_given() -> None:
    plan = plan_search(VIEW, "evolution", seconds=600.0, trial_epochs=5, dim=32, seed=7)
    assert (plan.seconds, plan.trial_epochs, plan.training.dim, plan.training.seed) == (600.0, 5, 32, 7)
    assert plan_search(VIEW, "evolution", trials=10).seconds is None
    assert plan_search(VIEW, "eras", epochs=500).seconds is None
    assert plan_search(VIEW, "eras-smt").groups == 4


def test_the_time_kept_for_the_finals_is_that_of_the_finals_that_will_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eras.search.plan.measure_pace", lambda *_: Pace(epoch=0.05, validation=0.01))
    short, long = (plan_search(VIEW, "eras", seconds=600.0, most_epochs=epochs, finalists=6) for epochs in (10, 500))
    assert long.most_epochs == 500
    assert long.reserve > 3 * short.reserve > 0
    assert plan_search(VIEW, "eras", finalists=0).reserve == 0


def test_looking_at_validation_counts_as_time() -> None:
    pace = Pace(epoch=1.0, validation=10.0)
    assert pace.trial(2) == 22.0
    assert pace.trial(100) == 160.0
    assert measure_pace(VIEW, named("distmult"), config_of().training).validation > 0


def test_what_is_compiled_first_is_not_taken_for_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = 2.0
    for kind, name in ((Selection, "mrr"), (BlockStepper, "run")):
        monkeypatch.setattr(kind, name, _slow_at_first(getattr(kind, name), slow))
    pace = measure_pace(VIEW, named("distmult"), config_of().training)
    assert pace.epoch < slow
    assert pace.validation < slow


def _slow_at_first(function: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    waits = [seconds]

    def called(*arguments: Any) -> Any:
        time.sleep(waits.pop() if waits else 0.0)
        return function(*arguments)

    return called


def test_any_number_of_blocks_can_be_searched(tmp_path: Path) -> None:
    plan = plan_search(VIEW, "evolution", blocks=3, groups=2, trials=4, trial_epochs=1, finalists=0)
    assert plan.training.dim == 255
    assert TrialSearch(VIEW, plan, tmp_path, workers=1).run().function.blocks == 3


def test_settings_that_leave_no_doubt() -> None:
    assert np.isfinite(plan_search(VIEW, "eras").seconds or np.inf)
