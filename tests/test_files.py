from __future__ import annotations

from pathlib import Path

import pytest

from eras.errors import DamagedError, FailureError
from eras.files import Journal, read_json, replacing, write_json


def test_a_torn_last_line_is_dropped_and_the_journal_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path).write("epoch", epoch=1, mrr=0.5)
    with path.open("a") as stream:
        stream.write('{"event": "epoch", "epo')
    journal = Journal(path)
    journal.write("resume", epoch=2)
    assert journal.events() == [{"event": "epoch", "epoch": 1, "mrr": 0.5}, {"event": "resume", "epoch": 2}]
    assert journal.events("resume") == [{"event": "resume", "epoch": 2}]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    write_json(path, {"a": 1})

    def fail_in_the_middle() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_the_middle()
    assert read_json(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["facts.json"]


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match=r"facts\.json is missing"):
        read_json(tmp_path / "facts.json")
    with pytest.raises(FailureError, match=r"cannot write .*nowhere"):
        write_json(tmp_path / "nowhere" / "facts.json", {})
