"""The pictures: valid XML, one filled cell for each term, names escaped."""

from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from block_strategies import structures
from eras.scoring import ScoringFunction, Structure, named

SVG = "{http://www.w3.org/2000/svg}"


def cells_and_texts(svg):
    root = ElementTree.fromstring(svg)
    kinds = Counter(rect.get("class") for rect in root.iter(f"{SVG}rect") if rect.get("class"))
    return kinds, [text.text for text in root.iter(f"{SVG}text")]


@given(structures())
@settings(max_examples=25, deadline=None)
def test_every_term_is_a_filled_cell(structure):
    kinds, texts = cells_and_texts(structure.to_svg())
    signs = Counter(sign for *_, sign in structure.terms)
    assert kinds["positive"] == signs[1]
    assert kinds["negative"] == signs[-1]
    assert kinds["empty"] == structure.blocks**2 - len(structure.terms)
    assert sum(text.startswith("−r") for text in texts) == signs[-1]


def test_a_function_lists_its_relations():
    long = "/film/film/release_date_s./film/film_regional_release_date/film_release_region"
    groups = {"<a> & 'b'": 0, long: 0, **{f"relation {n:02}": 1 for n in range(20)}}
    structures = [named("complex").structures[0], Structure.parse(". 1 / 2 ."), Structure.parse("1 . / . 1")]
    kinds, texts = cells_and_texts(ScoringFunction(structures, groups, name="<mine>").to_svg())
    assert kinds == {"positive": 7, "negative": 1, "empty": 4}
    assert {
        "<mine>",
        "<a> & 'b'",
        "group 1",
        "group 3",
        "(no relations)",
        "relation 00",
        "… and 13 more",
    } <= set(texts)
    (short,) = [text for text in texts if text.startswith("/film")]
    assert "…" in short
    assert short.endswith("release_region"[-8:])


@pytest.mark.parametrize("name", ["distmult", "autosf-wn18"])
def test_nothing_leaves_the_canvas(name):
    root = ElementTree.fromstring(named(name).to_svg())
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter(f"{SVG}rect"):
        if rect.get("class"):
            assert float(rect.get("x")) + float(rect.get("width")) <= width
            assert float(rect.get("y")) + float(rect.get("height")) <= height
