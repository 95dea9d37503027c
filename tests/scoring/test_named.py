"""Named functions against their textbook formulas, written out independently."""

import numpy as np
import pytest

from eras.errors import UnknownNameError
from eras.scoring import NAMES, citation, describe, named

WIDTH = 3

# The tail block of head blocks 1-4 (relation block i on head block i), then (relation, head, tail, sign).
AUTOSF = {
    "autosf-wn18": [
        *(3, 2, 1, 0),
        *(3, 3, 2, -1, 0, 2, 3, -1, 1, 0, 1, 1, 2, 1, 0, 1, 2, 2, 0, -1, 1, 0, 2, -1),
    ],
    "autosf-wn18rr": [
        *(1, 0, 2, 3),
        *(3, 1, 1, 1, 3, 0, 0, 1, 0, 3, 2, -1, 1, 2, 3, -1, 1, 3, 1, -1, 0, 1, 3, -1),
    ],
    "autosf-fb15k": [3, 2, 1, 0, 1, 0, 1, 1, 2, 1, 0, 1],
    "autosf-fb15k237": [2, 1, 3, 0],
    "autosf-yago3-10": [0, 1, 2, 3, 1, 3, 1, -1, 2, 1, 3, -1],
}


def autosf(code):
    def score(h, r, t):
        total = sum((h[i] * r[i] * t[code[i]]).sum() for i in range(4))
        for relation, head, tail, sign in np.reshape(code[4:], (-1, 4)):
            total += sign * (h[head] * r[relation] * t[tail]).sum()
        return total

    return score


def complex_(h, r, t):
    h, r, t = (x[0] + 1j * x[1] for x in (h, r, t))
    return (h * r * t.conj()).sum().real


FORMULAS = {
    "distmult": lambda h, r, t: (h[0] * r[0] * t[0]).sum(),
    "complex": complex_,
    "simple": lambda h, r, t: sum(h[0] * r[0] * t[1]) + sum(t[0] * r[1] * h[1]),
    "analogy": lambda h, r, t: (h[:2] * r[:2] * t[:2]).sum() + complex_(h[2:], r[2:], t[2:]),
    "cp": lambda h, r, t: (h[0] * r[0] * t[1]).sum(),
    **{name: autosf(code) for name, code in AUTOSF.items()},
}


@pytest.mark.parametrize("name", NAMES)
def test_matches_the_textbook(name):
    function = named(name.upper())
    assert function.name == name
    (structure,) = function.structures
    rng = np.random.default_rng(7)
    for _ in range(5):
        h, r, t = rng.normal(size=(3, structure.blocks, WIDTH))
        score = 0.0
        for i, row in enumerate(structure.cells):
            for j, entry in enumerate(row):
                if entry:
                    score += np.sign(entry) * (h[i] * r[abs(entry) - 1] * t[j]).sum()
        assert score == pytest.approx(FORMULAS[name](h, r, t))


@pytest.mark.parametrize("name", NAMES)
def test_is_described_with_its_citation(name):
    assert citation(name) in describe(name)
    assert "\n" not in describe(name)


def test_no_two_names_mean_the_same_function():
    assert len({named(name) for name in NAMES}) == len(NAMES)


def test_unknown_name_gets_its_closest():
    with pytest.raises(UnknownNameError, match=r"unknown scoring function 'complx'\. Did you mean 'complex'"):
        named("complx")
