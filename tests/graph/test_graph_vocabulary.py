from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eras.errors import UnknownNameError, UsageError
from eras.graph import Vocabulary, load_graph

NAME = st.text(min_size=1, max_size=5).filter(lambda text: text == text.strip())
NAMES = st.lists(NAME, min_size=2, max_size=20, unique=True)


@given(NAMES)
def test_ids_are_positions_in_codepoint_order(names: list[str]) -> None:
    rows = [(name, name, name) for name in names]
    frame = pl.DataFrame(rows, schema=["h", "r", "t"], orient="row")
    vocabulary = load_graph({"train": frame, "valid": frame, "test": frame}).entities
    assert vocabulary.names.to_list() == sorted(names)
    assert [vocabulary.name(vocabulary.id(name)) for name in names] == names
    assert np.array_equal(vocabulary.ids(names), [vocabulary.id(name) for name in names])
    assert vocabulary.ids(names).dtype == np.int64


@pytest.fixture
def labelled() -> Vocabulary:
    names = pl.Series(["Q1", "Q2", "Q3", "Q4"])
    return Vocabulary("entity", names, pl.Series(["Paris", "Berlin", "Paris", None], dtype=pl.String))


def test_labels_stand_in_for_names(labelled: Vocabulary) -> None:
    assert labelled.id("Berlin") == 1
    assert labelled.ids(["Q4", "Berlin"]).tolist() == [3, 1]
    assert [labelled.label(i) for i in (1, 3)] == ["Berlin", "Q4"]


def test_unknown_and_ambiguous_names_say_what_exists(labelled: Vocabulary) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown entity 'berlinn'.*'Berlin'"):
        labelled.id("berlinn")
    with pytest.raises(UnknownNameError, match="'Q9'"):
        labelled.ids(["Q1", "Q9"])
    with pytest.raises(UsageError, match=r"'Paris' is carried by 'Q1', 'Q3'"):
        labelled.id("Paris")
