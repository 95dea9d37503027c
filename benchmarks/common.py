"""What the benchmarks share: the machine they ran on, a table for people, JSON for scripts, an orderly end."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import torch

from benchmarks.errors import BenchmarkError
from eras import __version__
from eras.errors import ErasError

RESULTS = Path(os.environ.get("ERAS_BENCH_RESULTS", "benchmarks/results"))


def _processor() -> str:
    """Its name, and its generation where the system tells: names such as "AMD EPYC" say nothing of it."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name") or platform.processor() or platform.machine()
    generation = {"family": facts.get("cpu family"), "model": facts.get("model")}
    return ", ".join([name, *(f"{part} {number}" for part, number in generation.items() if number)])


def machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "polars": pl.__version__,
        "eras": __version__,
    }


def publish(
    name: str, settings: dict[str, Any], results: dict[str, Any], notes: Mapping[str, str] | None = None
) -> None:
    """Print a result and write it to RESULTS/name.json. Where every value is a row, they make a table."""
    print(f"\n{name}  ({', '.join(f'{k} {v}' for k, v in settings.items())})")
    if results and all(isinstance(value, dict) for value in results.values()):
        print_table(results)
    else:
        for key, value in results.items():
            print(f"  {key:<42} {shown(value)}")
    for subject, note in (notes or {}).items():
        print(f"  {subject}: {note}")
    sys.stdout.flush()
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = {"benchmark": name, "machine": machine(), "settings": settings, "results": results}
    content |= {"notes": dict(notes)} if notes else {}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


def print_table(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """A line for each row under a line of column names; a row need not have every column."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [["", *columns]]
    lines += [[name, *(shown(row[c]) if c in row else "–" for c in columns)] for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        print("  ".join(["", first.ljust(widths[0]), *cells]))


def shown(value: Any) -> str:
    """Four digits of a number; a large one in full, with its thousands apart."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1e4 else f"{value:.4g}"


def run(main: Callable[[], object]) -> None:
    """Run a benchmark as a script: Ctrl-C ends it, and what it cannot do is one line, not a traceback."""
    try:
        main()
    except KeyboardInterrupt:
        print("\nstopped; results written before stay", file=sys.stderr)
        sys.exit(130)
    except (BenchmarkError, ErasError) as error:
        sys.exit(f"error: {error}")
