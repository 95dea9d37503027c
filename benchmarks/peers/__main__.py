from benchmarks.common import run
from benchmarks.peers.compare import main

run(main)
