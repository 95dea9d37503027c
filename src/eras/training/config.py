"""Every setting of a training run, in one frozen, typed place."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eras.errors import DataError, SettingError, closest


class TrainConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    dim: int = Field(256, ge=1, description="Real numbers per entity; a multiple of the function's blocks.")
    epochs: int = Field(50, ge=1, description="Passes over the training triples, at most.")
    batch_size: int = Field(512, ge=1, description="Different queries per step.")
    loss: Literal["softmax", "binary", "self-adversarial", "margin"] = Field(
        "softmax",
        description="softmax: an answer among all candidates; binary: each candidate by itself; self-adversarial and "
        "margin: answers above others by a margin. Block structures are trained by softmax.",
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="Loss binary: how far labels are drawn to 1/n.")
    margin: float = Field(6.0, ge=0, description="Losses self-adversarial and margin: the margin.")
    temperature: float = Field(1.0, ge=0, description="Loss self-adversarial: how much hard candidates count.")
    negatives: int = Field(
        0, ge=0, description="Entities sampled as candidates in a step, beside its answers; 0 compares all entities."
    )
    full_epochs: int = Field(0, ge=0, description="With negatives: the last epochs, which compare all entities.")
    optimiser: Literal["adagrad", "adam", "sgd"] = Field("adagrad", description="How gradients move parameters.")
    lr: float = Field(0.1, gt=0, description="Learning rate of the first epoch.")
    lr_decay: float = Field(1.0, gt=0, le=1, description="The learning rate is multiplied by this after each epoch.")
    regulariser: Literal["n3", "f2", "dura", "none"] = Field(
        "n3",
        description="Penalty: n3 (cubes of moduli), f2 (squares), dura (squares, queries included), none.",
    )
    reg_weight: float = Field(0.05, ge=0, description="Weight of the penalty.")
    reciprocal: bool = Field(True, description="Give the head question a relation embedding of its own.")
    relation_weight: float = Field(0.0, ge=0, description="Weight of the relation-prediction loss; 0 leaves it out.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of query coordinates set to zero in each step.")
    unit_ball: bool = Field(False, description="Clip entity rows to length 1 after each step (AutoSF's recipe).")
    init: Literal["normal", "xavier"] = Field("normal", description="Distribution of the first embeddings.")
    init_scale: float = Field(1e-3, gt=0, description="Standard deviation for init normal.")
    validate_every: int = Field(1, ge=1, description="Epochs between two looks at the selection MRR.")
    patience: int = Field(5, ge=1, description="Stop after this many validations without a better MRR.")
    seed: int = Field(0, ge=0, description="Decides initial embeddings, order of queries and dropout.")
    device: str = Field("cpu", description="Where to compute: cpu, cuda, cuda:1 …")
    threads: int = Field(0, ge=0, description="CPU threads; 0 takes what the machine has.")
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="What the products of a step multiply: bfloat16 is faster where the processor has it. Parameters, "
        "sums and losses stay in 32 bits. For block structures.",
    )
    memory_mb: int = Field(512, ge=1, description="Upper bound for a block of scores, in MiB.")
    checkpoint_seconds: float = Field(60.0, ge=0, description="Time between two checkpoints; 0 saves after each step.")
    storage: Literal["float32", "bfloat16"] = Field(
        "float32", description="How the finished model's tables are written: bfloat16 halves the files."
    )

    def updated(self, **changes: Any) -> TrainConfig:
        """A copy with other values; an unknown key or an impossible value is a `SettingError`."""
        unknown = [key for key in changes if key not in TrainConfig.model_fields]
        if unknown:
            near = closest(unknown[0], TrainConfig.model_fields)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(TrainConfig.model_fields)}"
            raise SettingError(f"unknown setting {unknown[0]!r}: {hint}")
        try:
            return TrainConfig(**{**self.model_dump(), **changes})
        except ValidationError as error:
            first = error.errors()[0]
            raise SettingError(f"setting {first['loc'][0]} = {first['input']!r}: {first['msg']}") from error


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a TOML file: the keys of `TrainConfig`, at the top level or under [train]."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read the configuration file {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}") from error
    settings = {**{k: v for k, v in content.items() if k != "train"}, **content.get("train", {})}
    TrainConfig().updated(**settings)
    return settings
