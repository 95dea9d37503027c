"""Triples in: readers, vocabularies, splits, the data-set catalogue and relation patterns."""

from eras.graph.archive import read_graph, write_graph
from eras.graph.load import load_graph
from eras.graph.model import Graph, TrainingView
from eras.graph.patterns import relation_patterns
from eras.graph.profiling import Profile, profile
from eras.graph.vocabulary import Vocabulary

__all__ = [
    "Graph",
    "Profile",
    "TrainingView",
    "Vocabulary",
    "load_graph",
    "profile",
    "read_graph",
    "relation_patterns",
    "write_graph",
]
