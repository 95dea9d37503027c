"""How sure a model is, as it is kept beside its weights: calibration.json."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eras.errors import DamagedError
from eras.evaluation.calibration import Calibration, TopOne
from eras.files import read_json, write_json
from eras.graph import Vocabulary

FILE = "calibration.json"


@dataclass(frozen=True, eq=False)
class Calibrated:
    """of_facts: probabilities of triples; of_first: of the first in a list; about: what it was fitted on."""

    of_facts: Calibration
    of_first: TopOne
    about: dict[str, Any]

    def save(self, folder: Path, relations: Vocabulary) -> None:
        facts = self.of_facts
        steps = {
            relations.name(number): {"scores": at.tolist(), "probabilities": probability.tolist()}
            for number, (at, probability) in facts.steps.items()
        }
        lines = zip(relations.names, facts.intercept.tolist(), facts.slope.tolist(), strict=True)
        write_json(
            folder / FILE,
            {
                "about": self.about,
                "relations": {name: {"intercept": a, "slope": b} for name, a, b in lines},
                "steps": steps,
                "first": {"intercept": self.of_first.intercept, "weights": list(self.of_first.weights)},
            },
        )


def read_calibration(folder: Path, relations: Vocabulary) -> Calibrated | None:
    """What `save` wrote, or None where a model is not calibrated."""
    path = folder / FILE
    if not path.exists():
        return None
    content = read_json(path)
    try:
        lines = [content["relations"][name] for name in relations.names]
        steps = {
            relations.id(name): (np.array(step["scores"], float), np.array(step["probabilities"], float))
            for name, step in content["steps"].items()
        }
        intercept, slope = (np.array([line[key] for line in lines], float) for key in ("intercept", "slope"))
        odds, lead = content["first"]["weights"]
        first = TopOne(float(content["first"]["intercept"]), (float(odds), float(lead)))
        return Calibrated(Calibration(intercept, slope, steps), first, content["about"])
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(
            f"{path} cannot be used ({error!r}): delete it, and run `eras calibrate {folder}`"
        ) from error
