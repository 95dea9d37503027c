"""Models that are no block structures, by name: what `eras train --function rotate` means.

A name can carry settings of the architecture: `conve:channels=64,kernel=5`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from eras.errors import SettingError, StructureError, UnknownNameError
from eras.files import write_json
from eras.models.base import EmbeddingModel, Options

_MODELS = {
    "transe": ("TransE", "a relation is a translation", "Bordes et al., NeurIPS 2013"),
    "transh": ("TransH", "a translation within a hyperplane of the relation", "Wang et al., AAAI 2014"),
    "rotate": ("RotatE", "a relation turns complex coordinates", "Sun et al., ICLR 2019"),
    "rescal": ("RESCAL", "a full matrix for each relation", "Nickel et al., ICML 2011"),
    "hole": ("HolE", "circular correlation of head and tail", "Nickel et al., AAAI 2016"),
    "holex": ("HolEX", "several holographic features of masked heads", "Xue et al., NeurIPS 2018"),
    "quate": ("QuatE", "a relation turns quaternions", "Zhang et al., NeurIPS 2019"),
    "tucker": ("TuckER", "one core tensor for all relations", "Balažević et al., EMNLP 2019"),
    "conve": ("ConvE", "a convolution over entity and relation", "Dettmers et al., AAAI 2018"),
    "hyper": ("HypER", "convolution filters made by the relation", "Balažević et al., ICANN 2019"),
    "ntn": ("NTN", "a small network for each relation", "Socher et al., NeurIPS 2013"),
}

ARCHITECTURES = tuple(_MODELS)


@dataclass(frozen=True)
class Architecture:
    """A model by name, with settings of its architecture: what a `ScoringFunction` is to the block-bilinear model."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in _MODELS:
            raise UnknownNameError("model", self.name, ARCHITECTURES)
        self.checked_options()

    @classmethod
    def parse(cls, spec: str) -> Architecture:
        """From `rotate` or `conve:channels=64,kernel=5`."""
        name, _, settings = spec.strip().partition(":")
        options = {}
        for setting in filter(None, settings.split(",")):
            key, equals, value = setting.partition("=")
            if not equals:
                raise SettingError(f"{spec}: write settings of a model as name=value, not {setting!r}")
            options[key.strip()] = value.strip()
        return cls(name.lower(), options)

    @property
    def title(self) -> str:
        return _MODELS[self.name][0]

    @property
    def citation(self) -> str:
        return _MODELS[self.name][2]

    @property
    def about(self) -> str:
        return _MODELS[self.name][1]

    @property
    def summary(self) -> str:
        return f"{self.title}: {self.about} ({self.citation})"

    @property
    def kind(self) -> type[EmbeddingModel]:
        module = importlib.import_module(f"eras.models.{self.name}")
        found: type[EmbeddingModel] = getattr(module, self.title)
        return found

    @property
    def blocks(self) -> int:
        """What `dim` must be a multiple of."""
        return self.kind.multiple

    def checked_options(self) -> Options:
        try:
            return self.kind.Options(**self.options)
        except ValidationError as error:
            first = error.errors()[0]
            name, known = first["loc"][0], ", ".join(self.kind.Options.model_fields) or "none"
            if first["type"] == "extra_forbidden":
                raise SettingError(f"{self.name} has no setting {name!r}; it has {known}") from error
            raise SettingError(f"{self.name}: setting {name} = {first['input']!r}: {first['msg']}") from error

    def to_json(self) -> dict[str, Any]:
        return {"model": self.name, "options": self.checked_options().model_dump()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Architecture:
        try:
            return cls(content["model"], content["options"])
        except (KeyError, TypeError) as error:
            raise StructureError(f"not a model: {error}") from error

    def save(self, path: Path) -> None:
        write_json(path, self.to_json())
