"""Bytes of plain, gzip and zstd files, and their text in blocks that end where a line ends."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from eras.errors import DataError

BLOCK_BYTES = 32 << 20
BOM = b"\xef\xbb\xbf"


def bare_name(path: Path) -> str:
    """File name in lower case, without `.gz` or `.zst`."""
    return path.name.lower().removesuffix(".gz").removesuffix(".zst")


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The decompressed content; a file that cannot be opened or decompressed is a DataError that names it."""
    import zstandard

    suffix = path.suffix.lower()
    try:
        with path.open("rb") as raw:
            if suffix == ".gz":
                yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
            elif suffix == ".zst":
                yield cast(BinaryIO, io.BufferedReader(_ZstdStream(raw), 1 << 20))
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as error:
        kind = "gzip" if suffix == ".gz" else "zstd"
        raise DataError(f"{path}: not a whole {kind} file ({error}); fetch or compress it again") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def line_blocks(path: Path, skip: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, bytes that end with a line feed), without the first `skip` lines.

    The bytes are valid UTF-8: anything else is a DataError that names the line and the byte.
    """
    line, rest, first = 1, b"", True
    with open_bytes(path) as stream:
        while chunk := stream.read(BLOCK_BYTES):
            if first:
                chunk, first = chunk.removeprefix(BOM), False
            block, rest = _cut(rest + chunk)
            while skip and block:
                block, line, skip = block[block.find(b"\n") + 1 :], line + 1, skip - 1
            if block:
                _check_utf8(path, line, block)
                yield line, block
                line += block.count(b"\n")
    if rest and not skip:
        _check_utf8(path, line, rest)
        yield line, rest + b"\n"


def _check_utf8(path: Path, start: int, block: bytes) -> None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = start + block.count(b"\n", 0, error.start)
        column = error.start - block.rfind(b"\n", 0, error.start)
        raise DataError(
            f"{path}, line {line}: byte {column} is 0x{block[error.start]:02x}, which is not UTF-8; "
            "save the file as UTF-8"
        ) from None


def _cut(data: bytes) -> tuple[bytes, bytes]:
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


class _ZstdStream(io.RawIOBase):
    """Frames of a zstd file, one after another.

    `zstandard`'s own reader takes a truncated frame for the end of the data; this one raises EOFError.
    """

    def __init__(self, raw: BinaryIO) -> None:
        import zstandard

        self._raw, self._new = raw, zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._pending = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed asks for any writable buffer
        while not self._pending:
            data = self._next_input()
            if not data:
                return 0
            self._pending = memoryview(self._frame.decompress(data))
        n = min(len(buffer), len(self._pending))
        buffer[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        return n

    def _next_input(self) -> bytes:
        data: bytes = self._frame.unused_data or self._raw.read(1 << 16)
        if not data and not self._frame.eof:
            raise EOFError("the data ends in the middle of a frame")
        if data and self._frame.eof:
            self._frame = self._new()
        return data
