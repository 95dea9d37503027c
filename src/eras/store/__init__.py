"""The model directory: safetensors for arrays, JSON for facts, Parquet for names and facts; no pickle."""

from eras.store.directory import claim, read_model, write_model
from eras.store.load import load_model
from eras.store.model import Model
from eras.store.predictor import Predictor

__all__ = ["Model", "Predictor", "claim", "load_model", "read_model", "write_model"]
