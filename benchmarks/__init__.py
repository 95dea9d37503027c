"""Timings as ratios, taken in one run. `python -m benchmarks` runs them all; each module is a script of its own."""
