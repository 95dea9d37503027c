"""Python functions made machine code at their first call, and kept on disk for the next process.

numba is an extra: without it rules cannot be learned, and training takes steps of PyTorch's functions alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

from eras.errors import UsageError

try:
    import numba
    from numba.core import event
except ImportError:
    raise UsageError("rules need numba; install it with pip install 'eras-kge[rules]'") from None

_F = TypeVar("_F", bound=Callable[..., Any])
_LOCK = Lock()


class _Notice(event.Listener):
    """Says once, as it may take long, that something is compiled."""

    def on_start(self, event_: event.Event) -> None:
        if event_.data["dispatcher"].py_func.__module__.startswith("eras."):
            event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]  # numba leaves it untyped
            logging.getLogger("eras").info("Compiling for this machine, once; this takes up to half a minute.")

    def on_end(self, event_: event.Event) -> None: ...


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]  # numba leaves it untyped


def compiled(function: _F) -> _F:
    """Compiled; releases the interpreter lock."""
    return _compiled(function)


def numeric(function: _F) -> _F:
    """Compiled for arithmetic: a product may be fused with a sum, and what is divided by zero is infinite."""
    return _compiled(function, fastmath={"contract"}, error_model="numpy")


def summing(function: _F) -> _F:
    """`numeric`, with sums in any order."""
    return _compiled(function, fastmath={"contract", "reassoc"}, error_model="numpy")


def threaded(function: _F) -> _F:
    """`numeric`, with loops over `numba.prange` shared by the threads of a `team`."""
    return _compiled(function, fastmath={"contract"}, error_model="numpy", parallel=True)


@contextmanager
def team(threads: int) -> Iterator[None]:
    """Where `threaded` functions are called: one caller at a time, as not all of numba's pools have room for two."""
    with _LOCK:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]  # numba adds it at run time
        yield


def threads_of_pytorch() -> int:
    """As many as PyTorch has. Compiled functions run on the same ones and, at their first time, set their number."""
    import torch

    threads = torch.get_num_threads()
    with team(threads):
        torch.set_num_threads(threads)
    return threads


def _compiled(function: _F, **options: Any) -> _F:
    try:
        dispatcher = numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's can be written
        return cast(_F, numba.njit(nogil=True, **options)(function))
    kept = dispatcher._cache._cache_file
    try:
        kept._source_stamp = _sources(Path(function.__code__.co_filename).parent)
        kept._load_index()
    except Exception:  # another version left it, with types that are no more; numba would look at them first
        dispatcher._cache.flush()
    return cast(_F, dispatcher)


@cache
def _sources(folder: Path) -> str:
    """A digest of the modules of a folder: machine code has in it that of functions of other modules."""
    return sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
