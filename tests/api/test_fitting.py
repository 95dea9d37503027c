from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from eras import load_graph
from eras.api import fitting
from eras.errors import SettingError
from eras.search.estimators.standalone import Pace


@pytest.fixture(scope="module")
def large() -> Any:
    ends = np.arange(9000)
    names = pl.Series("e", ends).cast(pl.String)
    triples = pl.DataFrame({"head": names, "relation": ["next"] * len(ends), "tail": names.reverse()})
    return load_graph(triples).training_view()


def test_a_short_fit_of_a_large_graph_compares_samples(large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fitting, "measure_pace", lambda view, function, config, threads: Pace(10.0 if config.negatives else 60.0, 0.0)
    )
    short, sampled = fitting.plan_fit(large, 1000.0, 4)
    assert sampled.negatives
    assert short.epochs == sampled.epochs == 30
    long, full = fitting.plan_fit(large, 30_000.0, 4)
    assert not full.negatives
    assert long.epochs == full.epochs
    assert not fitting.plan_fit(large, 1000.0, 4, negatives=0)[1].negatives
    with pytest.raises(SettingError, match="too short"):
        fitting.plan_fit(large, 60.0, 4)


def test_time_that_training_cannot_use_goes_to_the_search(large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "measure_pace", lambda *_: Pace(0.01, 0.0))
    given, config = fitting.plan_fit(large, 300.0, 4)
    training = 5 * config.epochs * 0.01
    assert given.seconds == pytest.approx(300.0)
    assert given.search_seconds == pytest.approx(300.0 - training)
    chosen, _ = fitting.plan_fit(large, None, 4)
    assert chosen.search_seconds == pytest.approx(0.4 * fitting.LEAST_SECONDS)
    assert chosen.seconds == pytest.approx(chosen.search_seconds + training)
