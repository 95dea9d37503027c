"""Other libraries beside eras on the same data, in an environment of their own; `python -m benchmarks.peers` compares.

Their workers and readers run with nothing but that environment. They import no part of eras, and of `benchmarks` only
what imports none: `talk` and `questions` here, `process`, `readers`, `threads` and `turns`.
"""
