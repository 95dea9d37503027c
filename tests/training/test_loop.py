from pathlib import Path

import eras
from eras.files import Journal
from eras.training import Report


def test_a_watcher_sees_each_step_and_then_what_validation_says(tmp_path: Path) -> None:
    seen: list[Report] = []
    settings = {"dim": 8, "epochs": 4, "validate_every": 2, "batch_size": 512, "threads": 1}
    eras.train(eras.load_graph("umls"), out=tmp_path / "run", on_step=seen.append, **settings)
    epochs = Journal(tmp_path / "run" / "journal.jsonl").events("epoch")
    steps = seen[0].steps
    assert len(seen) == 4 * steps + 2
    assert seen[2 * steps].mrr == epochs[1]["mrr"]
    assert seen[-1].mrr == epochs[3]["mrr"]
    assert (seen[-1].epoch, seen[-1].step) == (4, steps)
