"""Timings as ratios, taken in one run. `python -m benchmarks` runs all but the studies; each module is a script."""

import os

# As the command line does, before PyTorch is loaded: threads that wait should not keep a core from what has its turn.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
