"""Python functions made machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from eras.errors import UsageError

try:
    import numba
except ImportError:
    raise UsageError("rules need numba; install it with pip install 'eras-kge[rules]'") from None

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compiled at its first call and kept on disk for the next process; releases the interpreter lock."""
    return cast(_F, numba.njit(cache=True, nogil=True)(function))
