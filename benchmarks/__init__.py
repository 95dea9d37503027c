"""Timings as ratios, taken in one run. `python -m benchmarks` runs the short ones; each module is a script."""
