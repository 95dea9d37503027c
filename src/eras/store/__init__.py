"""The model directory: safetensors for arrays, JSON for facts, Parquet for names and facts; no pickle."""

from eras.store.directory import claim, read_model, write_model
from eras.store.model import Model

__all__ = ["Model", "claim", "read_model", "write_model"]
