"""`python -m benchmarks` runs them all, `python -m benchmarks NAME …` those named; the quick ones come first."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import growth, memory, ranking, reading, startup, supernet_epoch, topk, training_epoch
from benchmarks.common import run
from benchmarks.errors import BenchmarkError
from benchmarks.peers import compare as peers
from eras.errors import ErasError

ALL: dict[str, Callable[[], None]] = {
    "startup": startup.main,
    "reading": reading.main,
    "topk": topk.main,
    "ranking": ranking.main,
    "memory": memory.main,
    "supernet_epoch": supernet_epoch.main,
    "training_epoch": training_epoch.main,
    "growth": growth.main,
    "peers": peers.main,
}


def main() -> None:
    names = sys.argv[1:] or list(ALL)
    if unknown := [name for name in names if name not in ALL]:
        raise BenchmarkError(f"there is no benchmark {unknown[0]!r}; there are {', '.join(ALL)}")
    failed = []
    for name in names:
        try:
            ALL[name]()
        except (BenchmarkError, ErasError) as error:
            print(f"\n{name}  could not run: {error}", flush=True)
            failed.append(name)
    if failed:
        raise BenchmarkError(f"{', '.join(failed)} could not run; the others are done")


run(main)
