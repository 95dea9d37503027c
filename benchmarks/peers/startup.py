"""How long a fresh process takes until it could train: Python itself and the imports."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping

from benchmarks.peers.results import publish_beside_eras
from benchmarks.startup import starting
from benchmarks.turns import in_turn

IMPORTS = {
    "eras": "from eras.api import train",  # `import eras` alone loads next to nothing
    "pykeen": "import pykeen.pipeline",
    "torchkge": "import torchkge",
}


def compare(pythons: Mapping[str, str], repeats: int) -> None:
    """`pythons`: the interpreter of each system."""
    commands = {name: [python, "-c", IMPORTS[name]] for name, python in pythons.items()}
    commands["python alone"] = [sys.executable, "-c", "pass"]
    taken = in_turn({name: starting(command) for name, command in commands.items()}, repeats)
    rows = {name: {"start-up, s": statistics.median(seconds)} for name, seconds in taken.items()}
    publish_beside_eras("peers_startup", {"repeats": repeats}, rows, "start-up, s", notes=IMPORTS)
