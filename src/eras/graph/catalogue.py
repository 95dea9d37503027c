"""Public benchmark graphs: what they are, where they come from and how their files are checked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class RemoteFile:
    """A file of a public repository at a fixed commit."""

    repository: str
    path: str
    blob: str
    """Git's name for the content: SHA-1 of `blob SIZE\\0` followed by the content."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def address(self, base: str) -> str:
        owner_and_name, _, commit = self.repository.partition("@")
        return f"{base.rstrip('/')}/{owner_and_name}/{commit}/{self.path}"


@dataclass(frozen=True)
class Entry:
    name: str
    title: str
    about: str
    relations: int
    entities: int
    train: int
    valid: int
    test: int
    licence: str
    citation: str
    files: tuple[RemoteFile, ...]


@cache
def catalogue() -> dict[str, Entry]:
    """Every entry by name, in the order of the data file."""
    document = tomllib.loads((files("eras.graph") / "data" / "catalogue.toml").read_text("utf-8"))
    return {name: _entry(name, dict(fields)) for name, fields in document.items()}


def find_entry(name: str) -> Entry | None:
    """The entry of that name; case, `-` and `_` do not matter, so `FB15k-237` finds `fb15k237`."""
    return next((entry for entry in catalogue().values() if simplify(entry.name) == simplify(name)), None)


def simplify(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _entry(name: str, fields: dict[str, object]) -> Entry:
    blobs = fields.pop("files")
    folder, repository = str(fields.pop("folder")), str(fields.pop("repository"))
    assert isinstance(blobs, dict)
    remote = tuple(RemoteFile(repository, f"{folder}/{file}", blob) for file, blob in blobs.items())
    return Entry(name=name, files=remote, **fields)  # type: ignore[arg-type]  # the TOML file is ours, and a test reads all of it
