"""Has something become slower? Small versions of the benchmarks, as ratios, beside those of a committed baseline.

    python -m benchmarks.quick                    exits with 1 if a ratio is more than 20 % above the baseline
    python -m benchmarks.quick --write-baseline   after a change that is meant to move one, or on another processor

Only ratios are compared, since seconds belong to a machine and its load. Ratios still depend on the kind of processor,
so each has a baseline of its own; beside that of another one nothing is an error. All graphs are random ones of fixed
size, so no data is needed. What looks slower is measured twice more, and the median of the three counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks import ranking, reading, startup, supernet_epoch, training_epoch
from benchmarks.common import machine, publish, run
from benchmarks.errors import BenchmarkError
from benchmarks.graphs import Size, stand_in
from benchmarks.readers import decompressing, reading_plain
from benchmarks.threads import one_thread
from benchmarks.topk import Asked, measure
from benchmarks.turns import median_ratio, take_turns, timed
from eras.graph import Graph, load_graph

BASELINE = Path(__file__).with_name("baseline.json")
SIZE = Size(entities=10_000, relations=50, train=100_000, valid=2_000, test=2_000)
FILE = Size(entities=20_000, relations=20, train=300_000, valid=0, test=0)
SLOWER = 0.2
LOOKS = 3
HOW = "write one with `python -m benchmarks.quick --write-baseline`"


class Ratios:
    """Each method takes one look at one ratio, in some seconds."""

    @cached_property
    def graph(self) -> Graph:
        return stand_in("random", SIZE)

    @cached_property
    def asked(self) -> Asked:
        return Asked.about(self.graph, 256, 256)

    def all(self) -> dict[str, Callable[[], float]]:
        return {
            "startup: eras --help / python -c pass": self.startup,
            "training, dim 64: step / products": lambda: self.training(64),
            "training, dim 256: step / products": lambda: self.training(256),
            "supernet, U = 8: step / plain step": self.supernet,
            "ranking, dim 256: ranking / product": self.ranking,
            "top-k, one question: predict / product": lambda: self.topk("predict", 1, 100),
            "top-k, one question, calibrated / product": lambda: self.topk("calibrated", 1, 100),
            "top-k, 256 questions: predict / product": lambda: self.topk("predict", 256, 7),
            "reading: load_graph / (gunzip + read_csv)": self.reading,
        }

    def startup(self) -> float:
        return median_ratio(*startup.measure(11))

    def training(self, dim: int) -> float:
        return training_epoch.measure(self.graph.training_view(), dim, seconds=4.0, least=9).ratio

    def supernet(self) -> float:
        return supernet_epoch.ratio(self.graph.training_view(), supernet_epoch.CONFIG, functions=8, rounds=7)

    def ranking(self) -> float:
        return ranking.measure(self.graph, dim=256, repeats=7, seconds=6.0).ratio

    def topk(self, kind: str, batch: int, turns: int) -> float:
        with one_thread():
            times = measure(self.asked, batch, 10, turns)
        return median_ratio(times[kind], times["product"])

    def reading(self) -> float:
        with tempfile.TemporaryDirectory() as folder:
            packed, plain = Path(folder) / "random.tsv.gz", Path(folder) / "random.tsv"
            reading.write_random(packed, FILE)
            reading.unpack(packed, plain)
            load = timed(lambda: load_graph(packed))
            least = take_turns(load, lambda: decompressing(packed) + reading_plain(plain), least=6)
        return median_ratio(*(times[1:] for times in least))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quick", description=__doc__.splitlines()[0])
    parser.add_argument("--write-baseline", action="store_true", help=f"write to {BASELINE.name} instead of comparing")
    if parser.parse_args(arguments).write_baseline:
        write_baseline()
    elif compare():
        sys.exit(1)


def write_baseline(path: Path = BASELINE) -> None:
    ratios = {}
    for name, look in Ratios().all().items():
        ratios[name] = statistics.median(look() for _ in range(LOOKS))
        print(f"  {name:<44} {ratios[name]:.3f}", flush=True)
    about = machine()
    baselines = {**read_baselines(path), about["processor"]: {"machine": about, "ratios": ratios}}
    path.write_text(json.dumps(baselines, indent=2) + "\n")
    print(f"  written to {path}, for {about['processor']}")


def read_baselines(path: Path) -> dict[str, dict[str, Any]]:
    """By the name of the processor."""
    return json.loads(path.read_text()) if path.exists() else {}


def compare(path: Path = BASELINE) -> bool:
    """Print and publish all ratios beside the baseline; whether one is slower than on such a processor before."""
    mine, baselines = machine()["processor"], read_baselines(path)
    if not baselines:
        raise BenchmarkError(f"there is no {path}: {HOW}")
    processor = mine if mine in baselines else next(iter(baselines))
    before: dict[str, float] = baselines[processor]["ratios"]
    rows: dict[str, dict[str, Any]] = {}
    for name, look in Ratios().all().items():
        rows[name] = judge(look, before.get(name))
        print(f"  {name}: {rows[name]['verdict']}", flush=True)
    strange = f"there is no baseline of it, so a change may be that of the processor; {HOW}"
    notes = {mine: strange} if processor != mine else None
    publish("quick", {"baseline": processor, "slower above": f"+{SLOWER:.0%}"}, rows, notes)
    return processor == mine and any(row["verdict"] == "slower" for row in rows.values())


def judge(look: Callable[[], float], before: float | None) -> dict[str, Any]:
    """A ratio beside its baseline; what looks slower is looked at again, since a load may have passed by."""
    looks = [look()]
    if before is None:
        return {"baseline": "–", "now": looks[0], "change": "–", "verdict": "new"}
    while len(looks) < LOOKS and looks[0] > (1 + SLOWER) * before:
        looks.append(look())
    now = statistics.median(looks)
    change = now / before - 1
    verdict = "slower" if change > SLOWER else "faster" if change < -SLOWER else "same"
    return {"baseline": before, "now": now, "change": f"{change:+.0%}", "verdict": verdict}


if __name__ == "__main__":
    run(main)
