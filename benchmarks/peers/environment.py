"""The environment of the peers: made once from requirements.txt, and again whenever that file changes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.errors import BenchmarkError

FOLDER = Path(__file__).parents[1] / ".peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def peers_python(folder: Path = FOLDER) -> Path:
    """The interpreter of an environment that has what requirements.txt asks for."""
    python, stamp = folder / "bin" / "python", folder / "stamp"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"  installing {', '.join(REQUIREMENTS.read_text().split())} into {folder} (once, some minutes)", flush=True)
    _do("make a virtual environment", [sys.executable, "-m", "venv", "--clear", str(folder)])
    quietly = ["--quiet", "--disable-pip-version-check", "--no-input"]
    _do("install the peers", [str(python), "-m", "pip", "install", *quietly, "-r", str(REQUIREMENTS)])
    stamp.write_text(wanted)
    return python


def _do(what: str, command: list[str]) -> None:
    # The constraints that `make` sets are those of eras; peers need other versions of some packages.
    environment = {key: value for key, value in os.environ.items() if key not in ("PIP_CONSTRAINT", "PYTHONPATH")}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment)
    if finished.returncode:
        said = (finished.stderr or finished.stdout).strip().splitlines()
        errors = [line for line in said if line.lower().startswith("error")] or said[-3:]
        raise BenchmarkError(
            f"could not {what}: {' / '.join(errors) or 'no message'}\n"
            "  The peers come from the package index that pip is set up for (`pip config list`; PIP_INDEX_URL names "
            "another) and need about 2 GB of disk.\n"
            f"  Try it by hand: {' '.join(command)}\n"
            "  All else runs without them: name the benchmarks, as in `python -m benchmarks startup ranking`."
        )
