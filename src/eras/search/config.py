"""Every setting of a search, in one frozen, typed place."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from eras.training import TrainConfig


class SearchConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: int = Field(4, ge=2, le=6, description="M: blocks of an embedding.")
    groups: int = Field(3, ge=1, le=8, description="N: groups of relations, each with a structure of its own.")
    epochs: int = Field(50, ge=1, description="Epochs of the supernet, each followed by a regrouping and policy steps.")
    functions: int = Field(8, ge=1, description="U: candidates that share a training step, and a policy step.")
    policy_steps: int = Field(20, ge=1, description="Steps of the policy after each epoch.")
    reward_batch: int = Field(512, ge=1, description="Validation triples that the candidates of a policy step share.")
    measure: Literal["mrr", "loss", "train-mrr"] = Field("mrr", description="What a reward is read from.")
    grouping: Literal["em", "fixed"] = Field("em", description="Regroup by embeddings after each epoch, or never.")
    entropy_bonus: float = Field(0.0, ge=0, description="Weight of the policy's entropy in its objective.")
    derive: int = Field(30, ge=1, description="K: candidates sampled at the end, of which the best is returned.")
    seed: int = Field(0, ge=0, description="Decides everything that is random.")
    supernet: TrainConfig = Field(TrainConfig(), description="How the shared embeddings are trained.")
