"""Every error that `eras` raises on purpose.

    ErasError
    ├── UsageError            the request is wrong; nothing was done           exit code 2
    │   ├── DataError         a file or frame of triples cannot be used
    │   ├── UnknownNameError  a name that does not exist, with the closest that do
    │   ├── StructureError    a block structure that breaks the rules
    │   ├── SettingError      a setting with an impossible value
    │   └── OutputError       an output folder that must not be written
    ├── FailureError          the request was right, the work failed           exit code 1
    │   ├── DamagedError      a model or run folder that cannot be read
    │   ├── DivergedError     training produced NaN or infinity
    │   └── DownloadError     a data set could not be fetched
    └── StoppedError          the user stopped the work                        exit code 130

A message names the file, the line and the value, and says what would have been right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ErasError(Exception):
    """Base of all errors raised on purpose; its text is meant for the user."""

    exit_code = 1


class UsageError(ErasError):
    exit_code = 2


class DataError(UsageError):
    pass


class UnknownNameError(UsageError):
    """`UnknownNameError("entity", "viruss", known)` names the closest matches in its message."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        self.matches = closest(name, known)
        hint = f"Did you mean {_join(self.matches)}?" if self.matches else "No name comes close."
        super().__init__(f"unknown {kind} {name!r}. {hint}")


class StructureError(UsageError):
    pass


class SettingError(UsageError):
    pass


class OutputError(UsageError):
    pass


class FailureError(ErasError):
    pass


class DamagedError(FailureError):
    pass


class DivergedError(FailureError):
    pass


class DownloadError(FailureError):
    pass


class StoppedError(ErasError):
    exit_code = 130


def closest(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The names in `known` that look most like `name`, ignoring case; best first."""
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    low = name.lower()
    matches = difflib.get_close_matches(low, list(by_lower), n=n, cutoff=0.6)
    if len(matches) < n and low:
        matches += [k for k in by_lower if low in k and k not in matches][: n - len(matches)]
    return [by_lower[m] for m in matches]


def _join(names: list[str]) -> str:
    quoted = [repr(n) for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]
