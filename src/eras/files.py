"""Files that are never half written, and journals that survive a kill."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eras.errors import DamagedError, FailureError

if TYPE_CHECKING:
    from torch import Tensor


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success sync it and rename it over `path`."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FailureError(f"cannot write {path}: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise FailureError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file that `eras` itself wrote; anything wrong with it is damage."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DamagedError(f"{path} is missing: {path.parent} is not a complete model or run folder") from error
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path} cannot be read as JSON ({error}): the folder is damaged") from error


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> None:
    """Write named tensors as safetensors, with a few words of text in the header."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        try:
            save_file(plain, temporary, metadata=metadata)
        except SafetensorError as error:
            raise FailureError(f"cannot write {path}: {error}") from error


def read_tensors(path: Path, device: str = "cpu") -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the header's text of a file that `write_tensors` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device=device) as stream:
            names = stream.keys()
            return {name: stream.get_tensor(name) for name in names}, stream.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise DamagedError(f"{path} cannot be read ({error}): the file is missing or damaged") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Journal:
    """An append-only file of JSON lines. A line torn by a kill is dropped when the journal is opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists():
            _drop_torn_line(path)

    def write(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n"
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line)
        except OSError as error:
            raise FailureError(f"cannot write {self.path}: {error.strerror or error}") from error

    def events(self, event: str | None = None) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [e for e in map(json.loads, lines) if event in (None, e["event"])]


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("rb+") as stream:
            stream.truncate(content.rfind(b"\n") + 1)
