"""Rules: learned from walks over a graph, readable, and able to predict and to give reasons."""
