"""From a path or a name to the file or folder that holds the graph."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from eras.errors import DataError, UnknownNameError, closest
from eras.graph.catalogue import Entry, catalogue, find_entry, simplify
from eras.graph.download import Progress, cached_folder, fetch


def locate(source: str | Path, progress: Progress | None = None) -> tuple[Path, str | None]:
    """The path of the graph, and the name it goes by if it was found by name.

    Looked for in this order: an existing path, a folder of `ERAS_DATA`, the cache, the package, a download.
    """
    path = Path(source).expanduser()
    if path.exists():
        return path, None
    if isinstance(source, Path) or _looks_like_path(source):
        raise _missing(path)
    local = data_folder(source)
    if local is not None:
        return local, local.name
    entry = known_entry(source, [*_folders(), *_siblings(path)])
    return local_folder(entry)[1] or fetch(entry, progress), entry.name


def known_entry(name: str, other_names: Iterable[str] = ()) -> Entry:
    """The catalogue's entry of that name, or an UnknownNameError with the closest names."""
    entry = find_entry(name)
    if entry is None:
        raise UnknownNameError("data set", name, [*catalogue(), *other_names])
    return entry


def local_folder(entry: Entry) -> tuple[str, Path | None]:
    """Where an entry is read from (ERAS_DATA, cache, packaged or download), and its folder if it has one."""
    places = {
        "ERAS_DATA": data_folder(entry.name),
        "cache": cached_folder(entry),
        "packaged": packaged_folder(entry.name),
    }
    return next(((place, folder) for place, folder in places.items() if folder), ("download", None))


def data_folder(name: str) -> Path | None:
    """The folder of that name under `ERAS_DATA`; case, `-` and `_` do not matter."""
    folders = _folders()
    return folders.get(name) or next((p for n, p in folders.items() if simplify(n) == simplify(name)), None)


def packaged_folder(name: str) -> Path | None:
    folder = Path(str(files("eras.graph"))) / "data" / name
    return folder if folder.is_dir() else None


def _folders() -> dict[str, Path]:
    root = os.environ.get("ERAS_DATA")
    if not root or not Path(root).is_dir():
        return {}
    return {path.name: path for path in sorted(Path(root).iterdir()) if path.is_dir()}


def _looks_like_path(source: str) -> bool:
    return os.sep in source or "/" in source or bool(Path(source).suffix)


def _missing(path: Path) -> DataError:
    close = closest(path.name, [*_siblings(path), *catalogue()])
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return DataError(f"{path}: no such file or folder.{hint} `eras data list` shows the data sets known by name.")


def _siblings(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
