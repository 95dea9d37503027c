"""Reading a graph of a million triples, beside its limits: decompressing the same bytes, and polars on the plain text.

Each way of reading runs in a process of its own, in turn, so that neither finds what another has loaded. The bytes are
in the system's cache for all of them after the first turn, which does not count.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.common import publish, run
from benchmarks.graphs import SIZES, Size, random_triples
from benchmarks.process import in_own_process
from benchmarks.readers import SPLITS, packed
from benchmarks.turns import in_turn, median_of


def main(repeats: int = 5, size: Size = SIZES["humangene"]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = humangene(Path(folder), size)
        plain = Path(folder) / "plain.tsv"
        unpacked = unpack(source, plain)
        files = {"eras": source, "gzip": source, "read_csv": plain}
        ways = {name: partial(in_own_process, "benchmarks.readers", name, str(path)) for name, path in files.items()}
        eras, unzip, polars = in_turn(ways, repeats).values()
    limit = median_of(unzip, "seconds") + median_of(polars, "seconds")
    publish(
        "reading",
        {"graph": source.name, "repeats": repeats},
        {
            "triples": eras[0]["triples"],
            "entities": eras[0]["entities"],
            "plain text, MiB": unpacked / 2**20,
            "load_graph, s": median_of(eras, "seconds"),
            "its imports, s": median_of(eras, "imports"),
            "load_graph, peak memory, MiB": median_of(eras, "peak") / 2**20,
            "reading and decompressing, s": median_of(unzip, "seconds"),
            "polars.read_csv of the plain text, s": median_of(polars, "seconds"),
            "polars.read_csv, peak memory, MiB": median_of(polars, "peak") / 2**20,
            "load_graph / (decompressing + read_csv)": median_of(eras, "seconds") / limit,
        },
    )


def humangene(folder: Path, size: Size) -> Path:
    """Humangene where it is at hand, else a random file of its size."""
    given = Path(os.environ.get("ERAS_DATA", "")) / "humangene"
    if "ERAS_DATA" in os.environ and all((given / split).is_file() for split in SPLITS):
        return given
    print("  humangene: a random file of the same size stands in; set ERAS_DATA for the real one", flush=True)
    return write_random(folder / "random.tsv.gz", size)


def write_random(path: Path, size: Size) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(random_triples(size).write_csv(separator="\t", include_header=False).encode())
    return path


def unpack(source: Path, target: Path) -> int:
    """Write the triples of `source` as plain text, all in one file; its bytes."""
    target.write_bytes(b"".join(gzip.decompress(path.read_bytes()) for path in packed(source)))
    return target.stat().st_size


if __name__ == "__main__":
    run(main)
