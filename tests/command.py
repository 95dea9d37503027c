"""The installed `eras` command, as a user starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ERAS = str(Path(sys.executable).parent / "eras")
QUICK = ("--dim", "32", "--epochs", "3", "--threads", "1")


def environment(**extra: str) -> dict[str, str]:
    """The caller's environment without its data folders, 80 columns wide."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ERAS_")}
    return {**kept, "COLUMNS": "80", "NO_COLOR": "1", **extra}


def eras(
    *arguments: str | Path, code: int = 0, cwd: Path | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run `eras` and check its exit code; nothing may ever end in a traceback."""
    result = subprocess.run(
        [ERAS, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**extra),
        check=False,
    )
    assert "Traceback" not in result.stderr, result.stderr
    assert result.returncode == code, f"exit code {result.returncode}\n{result.stderr}"
    return result


def eras_json(*arguments: str | Path, **options: Any) -> Any:
    return json.loads(eras(*arguments, "--json", **options).stdout)


def start(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start `eras` and let it run."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([ERAS, *map(str, arguments)], env=environment(), **{**quiet, **options})
