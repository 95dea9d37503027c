"""What a person reads about a model."""

from eras.report.card import model_card

__all__ = ["model_card"]
