"""N-Triples and Turtle, through the optional `pyoxigraph`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from eras.errors import DataError, UsageError
from eras.graph.streams import bare_name, open_bytes
from eras.graph.text import ROLES

if TYPE_CHECKING:
    from eras.graph.readers import Findings

BLOCK_TRIPLES = 200_000
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_GENERATED = re.compile(r"[0-9a-f]{20,32}")


def read_rdf(path: Path, findings: Findings) -> Iterator[pl.DataFrame]:
    """Yield frames (head, relation, tail: String) of IRIs and blank nodes.

    Literals cannot be embedded: they are counted in `findings`, except `rdfs:label`, which names its subject.
    """
    try:
        import pyoxigraph
    except ImportError:
        raise UsageError(f"{path}: reading RDF needs pyoxigraph; install it with pip install 'eras-kge[rdf]'") from None
    turtle = bare_name(path).endswith(".ttl")
    syntax = pyoxigraph.RdfFormat.TURTLE if turtle else pyoxigraph.RdfFormat.N_TRIPLES
    try:
        with open_bytes(path) as stream:
            facts = _facts(pyoxigraph, pyoxigraph.parse(input=stream, format=syntax), path.name, findings)
            while rows := list(islice(facts, BLOCK_TRIPLES)):
                yield pl.DataFrame(rows, schema=dict.fromkeys(ROLES, pl.String), orient="row")
    except SyntaxError as error:
        raise DataError(
            f"{path}, line {error.lineno}: not valid {'Turtle' if turtle else 'N-Triples'}: {error.msg}"
        ) from error


def _facts(rdf: Any, quads: Any, file: str, findings: Findings) -> Iterator[tuple[str, str, str]]:
    anonymous: dict[str, str] = {}

    def name(term: Any) -> str:
        if isinstance(term, rdf.NamedNode):
            return str(term.value)
        if isinstance(term, rdf.BlankNode) and _GENERATED.fullmatch(term.value):
            # The parser invents a random identifier; the order of appearance is the same on every reading.
            return anonymous.setdefault(term.value, f"_:{file}#{len(anonymous) + 1}")
        return str(term)

    for quad in quads:
        if not isinstance(quad.object, rdf.Literal):
            yield name(quad.subject), quad.predicate.value, name(quad.object)
        elif quad.predicate.value == RDFS_LABEL:
            plain = quad.object.language in (None, "en")
            labels = findings.labels if plain else findings.foreign_labels
            labels.setdefault(name(quad.subject), quad.object.value)
        else:
            findings.literals += 1
