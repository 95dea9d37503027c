"""How long `eras --help` takes, beside a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.common import publish

COMMAND = [str(Path(sys.executable).parent / "eras"), "--help"]


def main(repeats: int = 9) -> None:
    help_seconds, bare_seconds = [], []
    for _ in range(repeats):
        help_seconds.append(_time(COMMAND))
        bare_seconds.append(_time([sys.executable, "-c", "pass"]))
    publish(
        "startup",
        {"repeats": repeats},
        {
            "eras --help, s (median)": statistics.median(help_seconds),
            "python -c pass, s (median)": statistics.median(bare_seconds),
        },
    )


def _time(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
