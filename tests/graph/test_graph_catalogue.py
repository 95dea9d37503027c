from __future__ import annotations

import functools
import hashlib
import http.server
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from graph_files import RING, SPLIT_RING, facts, lines, write

from eras.errors import DownloadError
from eras.graph import load_graph
from eras.graph.catalogue import Entry, RemoteFile, catalogue, find_entry
from eras.graph.download import blob_id, cache_root, cached_folder, fetch
from eras.graph.sources import local_folder, packaged_folder


class Mirror(http.server.SimpleHTTPRequestHandler):
    """Serves a folder with Range, and counts the bytes sent; `stop_after` cuts a response short."""

    sent: list[tuple[str, int]]
    stop_after: int | None

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(asked[1]) if asked else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:][: type(self).stop_after]
        type(self).sent.append((path.name, len(body)))
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Mirror]]:
    handler = type("TestMirror", (Mirror,), {"sent": [], "stop_after": None})
    make = functools.partial(handler, directory=str(tmp_path / "mirror"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ERAS_MIRROR", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("ERAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ERAS_DATA", raising=False)
    yield handler
    server.shutdown()
    server.server_close()


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    """A graph of three files that the mirror serves."""
    remote = []
    for split, rows in SPLIT_RING.items():
        content = lines(rows).encode()
        write(tmp_path / "mirror" / "some" / "one" / "c0ffee" / "ring" / f"{split}.txt", content)
        remote.append(RemoteFile("some/one@c0ffee", f"ring/{split}.txt", git_blob(content)))
    return replace(catalogue()["nations"], name="ring", files=tuple(remote))


def test_the_catalogue_is_complete() -> None:
    expected = "wn18 wn18rr fb15k fb15k237 yago3-10 umls kinship nations nell-995 codex-s codex-m codex-l"
    assert set(catalogue()) == set(expected.split())
    for entry in catalogue().values():
        assert {file.name.split(".")[0].removesuffix("2id") for file in entry.files} >= {
            "train",
            "valid",
            "test",
        }
        assert all(re.fullmatch("[0-9a-f]{40}", file.blob) for file in entry.files)
        assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", file.repository) for file in entry.files)
        assert min(entry.relations, entry.entities, entry.train, entry.valid, entry.test) > 0
        assert all((entry.title, entry.about, entry.licence, entry.citation))


@pytest.mark.parametrize("name", ["FB15k-237", "fb15k237", "FB15K_237"])
def test_names_are_matched_loosely(name: str) -> None:
    assert find_entry(name) is catalogue()["fb15k237"]


def test_the_packaged_graph_is_the_published_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERAS_CACHE", str(tmp_path))
    monkeypatch.delenv("ERAS_DATA", raising=False)
    entry, folder = catalogue()["umls"], packaged_folder("umls")
    assert folder is not None
    assert [blob_id(folder / file.name) for file in entry.files] == [file.blob for file in entry.files]
    graph = load_graph("UMLS")
    assert (len(graph.relations), len(graph.entities)) == (entry.relations, entry.entities)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (entry.train, entry.valid, entry.test)
    assert (graph.name, graph.notes) == ("umls", ())


def test_a_download_lands_in_the_cache_once(mirror: type[Mirror], entry: Entry) -> None:
    progress: list[tuple[str, int, int | None]] = []
    folder = fetch(entry, lambda *step: progress.append(step))
    assert folder == cached_folder(entry) == local_folder(entry)[1] == cache_root() / "ring"
    assert facts(load_graph(folder)) == set(RING)
    assert [name for name, done, total in progress if done == total] == ["train.txt", "valid.txt", "test.txt"]
    fetch(entry)
    assert len(mirror.sent) == 3


def test_a_broken_download_goes_on_where_it_stopped(mirror: type[Mirror], entry: Entry) -> None:
    mirror.stop_after = 100
    with pytest.raises(DownloadError, match=r"ring could not be fetched.*100 of .* bytes of train\.txt"):
        fetch(entry)
    assert cached_folder(entry) is None
    mirror.stop_after = None
    folder = fetch(entry)
    size = (folder / "train.txt").stat().st_size
    assert mirror.sent[:2] == [("train.txt", 100), ("train.txt", size - 100)]
    (folder / "train.txt").rename(folder / "train.txt.part")
    assert fetch(entry) == cached_folder(entry)


def test_wrong_content_is_deleted(mirror: type[Mirror], entry: Entry) -> None:
    wrong = replace(entry, files=(replace(entry.files[0], blob="0" * 40), *entry.files[1:]))
    with pytest.raises(DownloadError, match=rf"train\.txt: .*{entry.files[0].blob}, expected {'0' * 40}"):
        fetch(wrong)
    assert list((cache_root() / "ring").iterdir()) == []


def test_without_a_network_the_message_says_where_to_put_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERAS_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("ERAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ERAS_DATA", raising=False)
    with pytest.raises(DownloadError) as caught:
        load_graph("kinship")
    for part in (
        "train.txt, valid.txt, test.txt",
        str(tmp_path / "cache" / "kinship"),
        "ERAS_MIRROR",
        "refused",
    ):
        assert part in str(caught.value)


def test_a_name_is_looked_for_in_order(mirror: type[Mirror], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(folder: Path, relation: str) -> None:
        write(folder / "train.txt", lines([(h, relation, t) for h, _, t in RING[:12]] + RING[12:]))

    def relation() -> str:
        return load_graph("nations").relations.name(0)

    place(tmp_path / "here" / "nations", "a path")
    place(tmp_path / "data" / "Nations", "b data")
    place(tmp_path / "cache" / "nations", "c cache")
    for split in ("valid", "test"):
        write(tmp_path / "cache" / "nations" / f"{split}.txt", lines(SPLIT_RING[split]))
    assert relation() == "c cache"
    monkeypatch.setenv("ERAS_DATA", str(tmp_path / "data"))
    assert relation() == "b data"
    assert load_graph("nations").name == "Nations"
    monkeypatch.chdir(tmp_path / "here")
    assert relation() == "a path"
    assert mirror.sent == []


def test_labels_file_names_entities_and_relations(tmp_path: Path) -> None:
    source = write(tmp_path / "ring.tsv", lines(RING))
    labels = write(tmp_path / "names.tsv.zst", "e1\tone\ne1\tuno\np\tprecedes\ne2\t\nx9\tnobody\n")
    graph = load_graph(source, labels=labels)
    assert graph.entities.id("one") == graph.entities.id("e1")
    assert graph.relations.id("precedes") == graph.relations.id("p")
    assert graph.entities.label(graph.entities.id("e2")) == "e2"
    assert "2 labels read from names.tsv.zst, 1 unknown ids ignored" in graph.notes
    assert graph.fingerprint == load_graph(source).fingerprint
