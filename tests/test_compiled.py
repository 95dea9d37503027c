"""Machine code that is kept on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_a_change_of_another_module_is_noticed(tmp_path: Path) -> None:
    inner = "from eras.compiled import numeric\n@numeric\ndef f(x):\n    return x + {}\n"
    outer = (
        "from eras.compiled import numeric\nfrom inner import f\n@numeric\ndef g(x):\n    return f(x)\nprint(g(1))\n"
    )
    (tmp_path / "outer.py").write_text(outer)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # Python would not notice changes within a second
    for number in (10, 20):
        (tmp_path / "inner.py").write_text(inner.format(number))
        command = [sys.executable, "-c", "import outer"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
        assert int(done.stdout) == 1 + number
    assert list(tmp_path.rglob("outer.g*.nbc"))


def test_compiling_is_announced_and_done_once(tmp_path: Path) -> None:
    code = (
        "import logging, numpy as np; logging.basicConfig(level=logging.INFO)\n"
        "from eras.training.kernels import weigh\n"
        "weigh(np.ones((2, 2), np.float32), np.ones(2, np.float32))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for notices in (1, 0):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
        assert done.stderr.count("Compiling for this machine") == notices
