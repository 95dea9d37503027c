"""Fetching a data set of the catalogue: resumable, checked, and never half there."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast

from eras.errors import DownloadError
from eras.graph.catalogue import Entry, RemoteFile

TIMEOUT_SECONDS = 30
CHUNK = 1 << 16

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes there so far and the size, None where the server does not say."""


def cache_root() -> Path:
    """`ERAS_CACHE`, or `eras` in `XDG_CACHE_HOME`, or `~/.cache/eras`."""
    if own := os.environ.get("ERAS_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eras"


def base_address() -> str:
    """Where repositories are served: GitHub, or the mirror that `ERAS_MIRROR` names."""
    return os.environ.get("ERAS_MIRROR") or "https://raw.githubusercontent.com"


def cached_folder(entry: Entry) -> Path | None:
    """The entry's folder in the cache, if all its files are there; a file gets its name only once checked."""
    folder = cache_root() / entry.name
    return folder if all((folder / file.name).exists() for file in entry.files) else None


def fetch(entry: Entry, progress: Progress | None = None) -> Path:
    """Download what the cache lacks of an entry; its folder in the cache."""
    folder = cache_root() / entry.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in entry.files:
            if not (folder / file.name).exists():
                _fetch_file(file, folder / file.name, progress)
    except (OSError, HTTPException) as error:
        raise _unreachable(entry, folder, error) from error
    return folder


def blob_id(path: Path) -> str:
    """Git's id of a file's content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _fetch_file(file: RemoteFile, target: Path, progress: Progress | None) -> None:
    part = target.with_name(target.name + ".part")
    address = file.address(base_address())
    _transfer(address, part, progress, file.name)
    found = blob_id(part)
    if found != file.blob:
        part.unlink()
        raise DownloadError(
            f"{address}: the content is not the published one (git blob id {found}, expected {file.blob}); "
            "the file was deleted, try again or another mirror (ERAS_MIRROR)"
        )
    part.replace(target)


def _transfer(address: str, part: Path, progress: Progress | None, name: str) -> None:
    """Bring `part` to its full length, going on from where an earlier attempt stopped."""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        response = cast(HTTPResponse, urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS))
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing left to ask for: the part is whole, or it is wrong
            return
        raise
    with response:
        done = start if response.status == 206 else 0
        total = None if response.length is None else done + response.length
        with part.open("ab" if done else "wb") as stream:
            while chunk := response.read(CHUNK):
                stream.write(chunk)
                done += len(chunk)
                if progress:
                    progress(name, done, total)
    if total is not None and done < total:
        raise OSError(f"the connection was lost after {done:,} of {total:,} bytes of {name}")


def _unreachable(entry: Entry, folder: Path, error: Exception) -> DownloadError:
    names = ", ".join(file.name for file in entry.files)
    source = entry.files[0].address(base_address()).rpartition("/")[0]
    reason = getattr(error, "reason", None) or error
    return DownloadError(
        f"{entry.name} could not be fetched ({reason}). Run the command again to go on where it stopped, "
        f"set ERAS_MIRROR to another address, or place {names} from {source} in {folder} by hand"
    )
