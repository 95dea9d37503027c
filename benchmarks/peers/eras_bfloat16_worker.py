"""eras with products of bfloat16 in training; ranking and answers are as always."""

from __future__ import annotations

import json
import sys

from benchmarks.peers.eras_worker import main

if __name__ == "__main__":
    main(**json.loads(sys.argv[1]), precision="bfloat16")
