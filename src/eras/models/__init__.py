"""Parameters and score: a model offers query vectors and a table of candidates; everything else is a product."""

from eras.models.bilinear import BlockBilinear

__all__ = ["BlockBilinear"]
