"""From what a user writes to a `ScoringFunction`: a name, an inline structure, or a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from eras.errors import DataError, StructureError, UnknownNameError
from eras.scoring.function import ScoringFunction
from eras.scoring.named import NAMES, named
from eras.scoring.structure import Structure
from eras.scoring.text import parse_entry

_FILE_SUFFIXES = {".json", ".txt"}


def load_function(spec: str | Path) -> ScoringFunction:
    """Read a name (`complex`), a structure (`1 2 / -2 1`), a text file with one structure, or a JSON file.

    A JSON file holds a matrix (`[[1, 2], [-2, 1]]`) or what `ScoringFunction.save` wrote. A name wins over
    a file that is called the same; write `./complex` for the file.
    """
    if isinstance(spec, Path):
        return _read(spec)
    if spec.strip().lower() in NAMES:
        return named(spec)
    path = Path(spec)
    if path.suffix.lower() in _FILE_SUFFIXES or _holds(path.is_file):
        return _read(path)
    if _looks_inline(spec):
        return ScoringFunction([Structure.parse(spec, source=f"structure {spec!r}")])
    if "/" in spec or "\\" in spec or (spec and _holds(path.is_dir)):
        return _read(path)
    raise UnknownNameError("scoring function", spec, NAMES)


def _holds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (OSError, ValueError):  # a long inline structure is no file name
        return False


def _looks_inline(spec: str) -> bool:
    """The first token is an entry; later mistakes are then reported as mistakes in a structure."""
    if spec.startswith("./"):
        return False
    tokens = [token for token in re.split(r"[\s,;/]+", spec) if token]
    return bool(tokens) and parse_entry(tokens[0]) is not None


def _read(path: Path) -> ScoringFunction:
    text = _read_text(path)
    try:
        if path.suffix.lower() != ".json" and not text.lstrip().startswith(("[", "{")):
            return ScoringFunction([Structure.parse(text, source=str(path))], name=path.stem)
        value = json.loads(text)
        if isinstance(value, list):
            return ScoringFunction([Structure.from_json(value)], name=path.stem)
        return ScoringFunction.from_json(value)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from None
    except StructureError as error:
        raise StructureError(_naming(path, str(error))) from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except IsADirectoryError:
        raise DataError(f"{path} is a folder: give a file with a structure, such as {path / 'function.json'}") from None
    except FileNotFoundError:
        raise DataError(
            f"no file {path}: give a file with a structure, a structure such as '1 2 / -2 1', "
            "or a name that `eras functions list` shows"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as text: {error}") from None


def _naming(path: Path, message: str) -> str:
    return message if message.startswith(str(path)) else f"{path}: {message}"
