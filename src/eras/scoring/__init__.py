"""The algebra of scoring functions: structures, groupings, named functions, canonical forms."""

from eras.scoring.function import ScoringFunction
from eras.scoring.load import load_function
from eras.scoring.named import NAMES, citation, describe, named
from eras.scoring.structure import Structure

__all__ = ["NAMES", "ScoringFunction", "Structure", "citation", "describe", "load_function", "named"]
