"""Which files of a folder are the splits of a graph."""

from __future__ import annotations

from pathlib import Path

from eras.errors import DataError
from eras.graph.model import SPLITS
from eras.graph.streams import bare_name

SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "test": "test",
}
SUFFIXES = ("", ".txt", ".tsv", ".csv", ".tab", ".nt", ".ttl", ".parquet")


def split_files(folder: Path) -> dict[str, Path]:
    """The file of each split present, `train` at least; OpenKE's `train2id.txt` only if there is no other."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    found = _by_split(files, "") or _by_split(files, "2id")
    if "train" not in found:
        have = ", ".join(path.name for path in files[:8]) or "no files"
        more = f" and {len(files) - 8} more" if len(files) > 8 else ""
        raise DataError(
            f"{folder}: no training triples found. Looked for train, valid (validation, val, dev) and test "
            f"as {', '.join(filter(None, SUFFIXES))}, also with .gz or .zst, or OpenKE's train2id.txt; "
            f"found {have}{more}"
        )
    return found


def is_openke(path: Path) -> bool:
    return _stem_and_suffix(path)[0].endswith("2id")


def _by_split(files: list[Path], ending: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        stem, suffix = _stem_and_suffix(path)
        split = SPLIT_WORDS.get(stem.removesuffix(ending)) if stem.endswith(ending) else None
        if split is None or suffix not in SUFFIXES:
            continue
        if split in found:
            raise DataError(
                f"{path.parent}: two files could be the {split} split, {found[split].name} and {path.name}; "
                "remove or rename one"
            )
        found[split] = path
    return {split: found[split] for split in SPLITS if split in found}


def _stem_and_suffix(path: Path) -> tuple[str, str]:
    stem, dot, suffix = bare_name(path).partition(".")
    return stem, dot + suffix
