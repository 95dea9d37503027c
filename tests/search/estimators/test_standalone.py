from __future__ import annotations

import os
import subprocess
import sys

from eras.search.estimators.standalone import _warned_less


def test_children_inherit_a_filter_of_warnings_for_a_while() -> None:
    def warns() -> bool:
        code = "import warnings; warnings.warn('resource_tracker: one is left')"
        return b"one is left" in subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr

    before = os.environ.get("PYTHONWARNINGS")
    with _warned_less("ignore:resource_tracker:UserWarning"):
        assert not warns()
    assert os.environ.get("PYTHONWARNINGS") == before
    assert warns()
