"""A run that is killed and resumed ends with the same bits as one that is left alone."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import ERAS, environment, eras
from eras.files import Journal

SETTINGS = ("--dim", "32", "--epochs", "25", "--patience", "25", "--batch-size", "64")
WAYS = {"plain": ("--dropout", "0.2", "--threads", "1"), "fused": ("--negatives", "30", "--full-epochs", "5")}
"""Steps by PyTorch, and steps of machine code, first against a sample and then against all."""


def train_arguments(folder: Path, way: str, *more: str) -> list[str]:
    return ["train", "umls", "--out", str(folder), *SETTINGS, *WAYS[way], *more]


@pytest.fixture(scope="module", params=WAYS)
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the name of the way."""
    folder = tmp_path_factory.mktemp("runs") / str(request.param)
    eras(*train_arguments(folder, request.param))
    return folder


def same_model(one: Path, other: Path) -> bool:
    return (one / "weights.safetensors").read_bytes() == (other / "weights.safetensors").read_bytes()


def kill_after_some_checkpoints(arguments: list[str], folder: Path, rng: random.Random, number: signal.Signals) -> int:
    """Start `eras`, wait until it has saved a few times, strike, and return its exit code."""
    process = subprocess.Popen([ERAS, *arguments], stderr=subprocess.DEVNULL, env=environment())
    checkpoint, seen, saves = folder / "checkpoint.safetensors", 0.0, 0
    wanted = rng.randint(2, 60)
    while saves < wanted and process.poll() is None:
        if checkpoint.exists() and checkpoint.stat().st_mtime_ns != seen:
            seen, saves = checkpoint.stat().st_mtime_ns, saves + 1
        time.sleep(0.0005)
    time.sleep(rng.random() * 0.02)
    assert process.poll() is None, "the run ended before it was killed: the test needs a longer one"
    process.send_signal(number)
    return process.wait(60)


def test_five_kills_and_resumes_end_in_the_same_bits(undisturbed: Path, tmp_path: Path) -> None:
    rng, folder = random.Random(time.time_ns()), tmp_path / "killed"
    arguments = train_arguments(folder, undisturbed.name, "--checkpoint-seconds", "0")
    for _ in range(5):
        kill_after_some_checkpoints(arguments, folder, rng, signal.SIGKILL)
        arguments = ["resume", str(folder)]
    eras("resume", folder)
    assert same_model(undisturbed, folder)
    journal = Journal(folder / "journal.jsonl")
    assert len(journal.events("resume")) == 5
    assert [e["epoch"] for e in journal.events("epoch")][-1] == 25


def test_ctrl_c_saves_and_says_how_to_go_on(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    arguments = train_arguments(folder, undisturbed.name, "--checkpoint-seconds", "0.01")
    assert kill_after_some_checkpoints(arguments, folder, random.Random(1), signal.SIGINT) == 130
    eras("evaluate", folder, code=1).stderr.index("eras resume")
    eras("resume", folder)
    assert same_model(undisturbed, folder)
    assert "ended already" in eras("resume", folder).stderr
