"""Parameters and score: a model turns questions into something that is compared with a table of candidates."""

from eras.models.architectures import ARCHITECTURES, Architecture
from eras.models.base import EmbeddingModel, KnowledgeModel
from eras.models.bilinear import BlockBilinear
from eras.models.build import Function, build_model, function_from_json, to_function

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "BlockBilinear",
    "EmbeddingModel",
    "Function",
    "KnowledgeModel",
    "build_model",
    "function_from_json",
    "to_function",
]
