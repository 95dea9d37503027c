"""The triples of humangene, as plain text, read into the graph object of each system, in processes of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from benchmarks.graphs import Size
from benchmarks.peers.results import publish_beside_eras
from benchmarks.process import in_own_process
from benchmarks.reading import humangene, unpack
from benchmarks.turns import in_turn, median_of

NOTES = {
    "eras": "load_graph: distinct triples, sorted; holds out a tenth for validation and a tenth for test",
    "pykeen": "TriplesFactory.from_path: distinct triples, sorted; no splits",
    "torchkge": "pandas.read_csv and KnowledgeGraph: every line; builds dictionaries of known heads, tails, relations",
}


def compare(pythons: Mapping[str, str], repeats: int, size: Size) -> None:
    """`pythons`: the interpreter of each system."""
    with tempfile.TemporaryDirectory() as folder:
        source, plain = humangene(Path(folder), size), Path(folder) / "plain.tsv"
        unpack(source, plain)
        read = partial(in_own_process, "benchmarks.readers")
        ways = {name: partial(read, name, str(plain), python=python) for name, python in pythons.items()}
        found = in_turn(ways, repeats)
    rows = {
        name: {
            "triples": answers[0]["triples"],
            "entities": answers[0]["entities"],
            "reading, s": median_of(answers, "seconds"),
            "imports alone, MiB": median_of(answers, "before") / 2**20,
            "peak memory, MiB": median_of(answers, "peak") / 2**20,
        }
        for name, answers in found.items()
    }
    settings = {"graph": source.name, "repeats": repeats}
    publish_beside_eras("peers_reading", settings, rows, "reading, s", "peak memory, MiB", notes=NOTES)
