"""Python functions made machine code at their first call, and kept on disk for the next process.

numba is an extra: without it rules cannot be learned, and training takes steps of PyTorch's functions alone.
"""

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
    """Compiled; releases the interpreter lock."""
    return _compiled(function)


def numeric(function: _F) -> _F:
    """Compiled for arithmetic: a product may be fused with a sum, and what is divided by zero is infinite."""
    return _compiled(function, fastmath={"contract"}, error_model="numpy")


def summing(function: _F) -> _F:
    """`numeric`, with sums in any order."""
    return _compiled(function, fastmath={"contract", "reassoc"}, error_model="numpy")


def _compiled(function: _F, **options: Any) -> _F:
    try:
        return cast(_F, numba.njit(nogil=True, cache=True, **options)(function))
    except RuntimeError:  # neither the package's folder nor the user's can be written
        return cast(_F, numba.njit(nogil=True, **options)(function))
