from pathlib import Path

import eras
from eras.files import Journal
from eras.training import Report


def test_a_watcher_sees_steps_and_then_what_validation_says(tmp_path: Path) -> None:
    """Short steps are taken in runs of 32; an epoch has 49 of them."""
    seen: list[Report] = []
    settings = {"dim": 8, "epochs": 4, "validate_every": 2, "batch_size": 32, "threads": 1}
    eras.train(eras.load_graph("umls"), out=tmp_path / "run", on_step=seen.append, **settings)
    epochs = Journal(tmp_path / "run" / "journal.jsonl").events("epoch")
    places = [(1, 32), (1, 49), (2, 32), (2, 49), (2, 49), (3, 32), (3, 49), (4, 32), (4, 49), (4, 49)]
    assert [(report.epoch, report.step) for report in seen] == places
    assert seen[4].mrr == epochs[1]["mrr"]
    assert seen[-1].mrr == epochs[3]["mrr"]
    assert seen[6].loss == epochs[2]["loss"]
