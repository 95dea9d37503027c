"""Scoring functions from the literature, as block structures."""

from __future__ import annotations

from dataclasses import dataclass

from eras.errors import UnknownNameError
from eras.scoring.function import ScoringFunction
from eras.scoring.structure import Structure

_AUTOSF = "Zhang et al., ICDE 2020"


@dataclass(frozen=True)
class _Entry:
    structure: str
    summary: str
    citation: str


_ENTRIES = {
    "distmult": _Entry(
        "1",
        "DistMult: one block, a diagonal g(r); symmetric relations only",
        "Yang et al., ICLR 2015",
    ),
    "complex": _Entry(
        "1 2 / -2 1",
        "ComplEx: Re<h, r, conj(t)> with real parts in block 1 and imaginary parts in block 2",
        "Trouillon et al., ICML 2016",
    ),
    "simple": _Entry(
        ". 1 / 2 .",
        "SimplE: head and tail vectors of each entity, a relation and its inverse",
        "Kazemi & Poole, NeurIPS 2018",
    ),
    "analogy": _Entry(
        "1 . . . / . 2 . . / . . 3 4 / . . -4 3",
        "ANALOGY: half DistMult (blocks 1 and 2), half ComplEx (blocks 3 and 4)",
        "Liu et al., ICML 2017",
    ),
    "cp": _Entry(
        ". 1 / . .",
        "CP (Hitchcock, 1927): entity block 1 acts as head, block 2 as tail; degenerate by design",
        "Lacroix et al., ICML 2018",
    ),
    "autosf-wn18": _Entry(
        ". 2 -2 1 / 3 . 2 . / -3 3 . -1 / 4 . -4 .",
        "Found by AutoSF on WN18",
        _AUTOSF,
    ),
    "autosf-wn18rr": _Entry(
        "4 1 . . / 2 4 . -1 / . . 3 -2 / . -2 -1 4",
        "Found by AutoSF on WN18RR",
        _AUTOSF,
    ),
    "autosf-fb15k": _Entry(
        ". 2 . 1 / 3 . 2 . / . 3 . . / 4 . . .",
        "Found by AutoSF on FB15k",
        _AUTOSF,
    ),
    "autosf-fb15k237": _Entry(
        ". . 1 . / . 2 . . / . . . 3 / 4 . . .",
        "Found by AutoSF on FB15k-237",
        _AUTOSF,
    ),
    "autosf-yago3-10": _Entry(
        "1 . . . / . 2 . -3 / . . 3 . / . -2 . 4",
        "Found by AutoSF on YAGO3-10",
        _AUTOSF,
    ),
}

NAMES = tuple(_ENTRIES)


def named(name: str) -> ScoringFunction:
    """The function of that name (case does not matter), one structure for all relations."""
    key, entry = _lookup(name)
    return ScoringFunction([Structure.parse(entry.structure)], name=key)


def describe(name: str) -> str:
    """One line: what the function is, and who published it."""
    entry = _lookup(name)[1]
    return f"{entry.summary} ({entry.citation})"


def citation(name: str) -> str:
    return _lookup(name)[1].citation


def _lookup(name: str) -> tuple[str, _Entry]:
    key = name.strip().lower()
    if key not in _ENTRIES:
        raise UnknownNameError("scoring function", name, NAMES)
    return key, _ENTRIES[key]
