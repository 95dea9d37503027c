"""Processes of their own, for what a process can be asked only once: its peak memory, its first imports.

Nothing heavy is loaded here: what runs in such a process imports this module too.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError


def peak_bytes() -> int:
    """The most memory this process has held so far.

    Linux's `ru_maxrss` may be that of the parent, which a new process starts from; VmHWM is its own.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10


def forget_peak() -> None:
    """Let the peak begin again at what this process holds now. Linux can do that; elsewhere it goes on from before."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def environment() -> dict[str, str]:
    """That of this process, in which `benchmarks` can be imported from any folder."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def in_own_process(module: str, *arguments: str, python: str = sys.executable) -> dict[str, Any]:
    """The JSON on the last line that `python -m module arguments` prints."""
    command = [python, "-m", module, *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, env=environment())
    if finished.returncode:
        last = finished.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        how = f"ended with {finished.returncode}" if finished.returncode > 0 else f"got signal {-finished.returncode}"
        raise BenchmarkError(f"`python -m {module} {' '.join(arguments)}` {how}: {last[0]}")
    answer: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return answer
