"""Search: the space of relation-aware scoring functions, and what proposes, trains and judges its candidates."""
