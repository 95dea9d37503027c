"""How long `eras --help` takes, beside a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.common import publish, run
from benchmarks.turns import Action, median_ratio, take_turns, timed

COMMAND = [str(Path(sys.executable).parent / "eras"), "--help"]
NOTHING = [sys.executable, "-c", "pass"]


def main(repeats: int = 9) -> None:
    asked, nothing = measure(repeats)
    publish(
        "startup",
        {"repeats": repeats},
        {
            "eras --help, s (median)": statistics.median(asked),
            "python -c pass, s (median)": statistics.median(nothing),
            "eras --help / python -c pass": median_ratio(asked, nothing),
        },
    )


def measure(repeats: int) -> list[list[float]]:
    return take_turns(starting(COMMAND), starting(NOTHING), least=repeats)


def starting(command: list[str]) -> Action:
    return timed(lambda: subprocess.run(command, check=True, capture_output=True))


if __name__ == "__main__":
    run(main)
