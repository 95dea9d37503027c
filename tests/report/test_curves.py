from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eras.errors import DataError, OutputError
from eras.report.curves import _once, _Race, draw_search

Event = dict[str, Any]


def policy(epoch: int, step: int, *rewards: float, **facts: float) -> Event:
    functions = [["1 . / . 2"] for _ in rewards]
    return {"event": "policy", "epoch": epoch, "step": step, "rewards": list(rewards), "functions": functions, **facts}


def epoch(number: int, moved: int = 0) -> Event:
    return {
        "event": "epoch",
        "epoch": number,
        "loss": 5.0 / number,
        "moved": moved,
        "reward": 0.1,
        "seconds": 2.0 * number,
    }


def trial(function: str, mrr: float, epochs: int = 4, replica: int = 0) -> Event:
    about = {"function": {"name": function}, "epochs": epochs, "replica": replica}
    return {"event": "trial", **about, "mrr": mrr, "by_relation": []}


def generation(stage: str, elapsed: float, **rewards: float) -> Event:
    functions = [[name] for name in rewards]
    rows = list(rewards.values())
    return {"event": "generation", "stage": stage, "rewards": rows, "functions": functions, "elapsed": elapsed}


ONE_SHOT = [
    policy(1, 1, 0.1, 0.3, baseline=0.2, entropy=2.2),
    policy(1, 2, 0.2, 0.0, baseline=0.2, entropy=2.1),
    epoch(1, moved=3),
    policy(2, 1, 0.2, 0.4, baseline=0.2, entropy=2.0),
    policy(2, 2, 0.3, 0.5, baseline=0.3, entropy=1.9),
    epoch(2),
    {"event": "derived", "rewards": [0.5, 0.4], "function": {}},
]
STAND_ALONE = [
    trial("a", 0.3),
    trial("b", 0.5),
    generation("single structures", 10.0, a=0.3, b=0.5),
    trial("c", 0.4),
    {"event": "grouping", "chosen": "pattern", "rewards": {"pattern": 0.4}},
    trial("d", 0.6),
    generation("groups", 25.0, c=0.4, d=0.6),
    trial("d", 0.7, epochs=12),
]


def labels(svg: Path) -> set[str]:
    """All that is written in a picture: matplotlib draws text as outlines and notes it in a comment."""
    return set(re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8")))


def test_a_repeated_row_counts_once_with_its_last_values_at_its_first_place_and_time() -> None:
    first, again = generation("groups", 10.0, a=0.3, b=0.5), generation("groups", 90.0, a=0.3, b=0.6)
    other = generation("single structures", 20.0, a=0.3, b=0.5)
    assert _once([first, other, trial("c", 0.1), again]) == [{**again, "elapsed": 10.0}, other, trial("c", 0.1)]

    torn = [policy(1, 1, 0.1), epoch(1), policy(2, 1, 0.7), {"event": "resume", "epoch": 1}]
    rest = [policy(2, 1, 0.2), policy(2, 2, 0.3), epoch(2)]
    assert _once(torn + rest) == [policy(1, 1, 0.1), epoch(1), rest[0], torn[3], *rest[1:]]
    assert _once([trial("a", 0.1), trial("a", 0.2, epochs=12)]) == [trial("a", 0.1), trial("a", 0.2, epochs=12)]


@pytest.mark.parametrize(
    ("whole", "killed"),
    [
        (ONE_SHOT, [*ONE_SHOT[:4], {"event": "resume", "epoch": 1}, *ONE_SHOT[3:]]),
        (STAND_ALONE, [*STAND_ALONE[:4], {**STAND_ALONE[2], "elapsed": 12.0}, *STAND_ALONE[4:]]),
    ],
)
def test_a_search_that_was_killed_has_the_picture_of_one_that_was_not(
    tmp_path: Path, whole: list[Event], killed: list[Event]
) -> None:
    draw_search(whole, tmp_path / "whole.svg")
    draw_search(killed, tmp_path / "killed.svg")
    assert (tmp_path / "whole.svg").read_bytes() == (tmp_path / "killed.svg").read_bytes()


def test_the_panels_are_those_that_the_journal_has_rows_for(tmp_path: Path) -> None:
    path = tmp_path / "curves.svg"
    draw_search(ONE_SHOT, path)
    assert labels(path) >= {
        "One-shot search: 8 functions judged in 2 epochs, 4 s",
        "best of a step",
        "baseline",
        "best of 2 derived, on all of validation",
        "Entropy of the policy",
        "Training loss of the supernet",
        "Relations that changed group",
    }
    draw_search([policy(1, 1, 0.1), epoch(1)], path)
    assert labels(path) >= {"reward of a step", "Training loss of the supernet"}
    assert not labels(path) & {"best of a step", "baseline", "Entropy of the policy", "Relations that changed group"}

    draw_search(STAND_ALONE, path)
    assert labels(path) >= {
        "Stand-alone search: 4 trials of 4 epochs, 25 s",
        "single structures",
        "groups",
        "time (s)",
        "best after 12 epochs",
    }
    draw_search(STAND_ALONE[:2], path)
    assert "unfinished generation" in labels(path)
    assert not labels(path) & {"single structures", "time (s)", "Functions trained longer"}


@pytest.mark.parametrize("events", [ONE_SHOT, STAND_ALONE])
def test_a_png_is_wide_enough_to_read(tmp_path: Path, events: list[Event]) -> None:
    path = tmp_path / "curves.PNG"
    draw_search(events, path)
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert int.from_bytes(head[16:20], "big") >= 900
    assert [p.name for p in tmp_path.iterdir()] == ["curves.PNG"]


def test_what_cannot_be_drawn_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    for events in ([], [{"event": "grouping", "epoch": 1, "groups": [0]}]):
        with pytest.raises(DataError, match="no step of a policy and no trial"):
            draw_search(events, tmp_path / "curves.svg")
    with pytest.raises(OutputError, match=r"curves\.pdf .* \.svg or \.png"):
        draw_search(ONE_SHOT, tmp_path / "curves.pdf")
    assert not list(tmp_path.iterdir())


def test_the_replicas_of_a_full_training_are_one_point_of_the_race() -> None:
    finals = [trial("d", 0.7, 12, replica=1), trial("a", 0.1, 12, replica=1), trial("d", 0.5, 12, replica=2)]
    trials = [event for event in STAND_ALONE[:-1] if event["event"] == "trial"]
    assert _Race.of(_once([*trials, *finals])).runs == [{4: 0.3, 12: 0.1}, {4: 0.6, 12: 0.6}]
