"""Other libraries on the same triples, in an environment of their own; `python -m benchmarks.peers` compares.

Workers run with nothing but that environment, so this module, `talk` and the workers import no part of eras.
"""
