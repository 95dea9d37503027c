"""A worker as the comparison sees it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from types import TracebackType
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.process import environment


class Worker:
    """A process that answers orders one by one, and ends with the `with` block."""

    def __init__(self, name: str, python: str, settings: dict[str, Any]) -> None:
        self.name = name
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.peers.{name}_worker", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment(),
        )
        self.about = self._answer()

    def ask(self, **order: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its answer, which is missing, says more
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            said = self._log.read().strip().splitlines()[-3:]
            raise BenchmarkError(f"the worker of {self.name} ended early: {' / '.join(said) or 'no message'}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()
