"""Downloads from a local server: checked, whole, or refused with one line."""

from __future__ import annotations

import hashlib
import http.server
import socket
import threading

import pytest

from seq2seq.data import download
from seq2seq.data.cache import cache_folder
from seq2seq.data.download import checksum, fetch
from seq2seq.errors import DataError

CONTENT = b"one line\n" * 20_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ADVICE = "put the file into a folder and pass data.root=FOLDER"


class Server(http.server.ThreadingHTTPServer):
    """Answers with `files`: by path, the content and the Content-Length that is claimed."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, tuple[bytes, int]] = {}
        self.asked: list[str] = []

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path not in self.server.files:
            self.send_error(503 if "busy" in self.path else 404)
            return
        content, length = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        server.files["/file.gz"] = (CONTENT, len(CONTENT))
        server.files["/tampered.gz"] = (CONTENT[:-1] + b"x", len(CONTENT))
        server.files["/truncated.gz"] = (CONTENT[:-1], len(CONTENT))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def refusal_of(address: str, folder) -> str:
    """The one line that a download is refused with."""
    with pytest.raises(DataError) as refused:
        fetch(address, SHA256, folder, ADVICE)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def test_the_right_file_is_kept_and_not_asked_for_again(server, tmp_path):
    folder = tmp_path / "new" / "folder"
    for _ in range(2):
        path = fetch(server.address("file.gz"), SHA256, folder, ADVICE)
        assert path == folder / "file.gz"
        assert path.read_bytes() == CONTENT
    assert [one.name for one in folder.iterdir()] == ["file.gz"]
    assert server.asked == ["/file.gz"]
    assert checksum(path) == SHA256


def test_a_broken_file_in_the_cache_is_downloaded_anew(server, tmp_path, capsys):
    path = tmp_path / "file.gz"
    path.write_bytes(CONTENT[:100])
    assert fetch(server.address("file.gz"), SHA256, tmp_path, ADVICE).read_bytes() == CONTENT
    assert f"{path} was broken and has been removed" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["file.gz"]


def test_tampered_content_is_refused_and_nothing_stays(server, tmp_path):
    address = server.address("tampered.gz")
    found = hashlib.sha256(CONTENT[:-1] + b"x").hexdigest()
    refusal = refusal_of(address, tmp_path)
    assert address in refusal
    assert f"its SHA-256 is {found}, not {SHA256}." in refusal
    assert not list(tmp_path.iterdir())


def test_a_connection_that_breaks_off_is_tried_again_and_then_refused(server, tmp_path):
    address = server.address("truncated.gz")
    refusal = refusal_of(address, tmp_path)
    assert refusal.startswith(f"{address} cannot be reached (the connection broke off).")
    assert ADVICE in refusal
    assert server.asked == ["/truncated.gz"] * download.ATTEMPTS
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_asked_for_once(server, tmp_path):
    address = server.address("missing.gz")
    refusal = refusal_of(address, tmp_path)
    assert refusal.startswith(f"{address} cannot be reached (it answers 404, Not Found).")
    assert refusal.endswith(f"{ADVICE}.")
    assert server.asked == ["/missing.gz"]
    assert not list(tmp_path.iterdir())


def test_a_busy_server_is_asked_again(server, tmp_path):
    refusal = refusal_of(server.address("busy.gz"), tmp_path)
    assert "it answers 503, Service Unavailable" in refusal
    assert server.asked == ["/busy.gz"] * download.ATTEMPTS


def test_without_network_the_line_says_how_to_get_the_data(server, tmp_path):
    with socket.socket() as free:  # bound and not listening: connections to it are refused
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/file.gz"
        refusal = refusal_of(address, tmp_path)
    assert refusal.startswith(f"{address} cannot be reached (")
    assert refusal.endswith(f"Connection refused). Without network, {ADVICE}.")
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written_is_refused(server, tmp_path):
    (tmp_path / "file").write_bytes(b"in the way")
    refusal = refusal_of(server.address("file.gz"), tmp_path / "file" / "cache")
    assert (
        refusal
        == f"{tmp_path / 'file' / 'cache' / 'file.gz'} cannot be read or written: Not a directory."
    )
    refusal = refusal_of(server.address("file.gz"), tmp_path / "file")
    assert refusal == f"{tmp_path / 'file' / 'file.gz'} cannot be read or written: File exists."
    (tmp_path / "file.gz").mkdir()
    refusal = refusal_of(server.address("file.gz"), tmp_path)
    assert refusal == f"{tmp_path / 'file.gz'} cannot be read or written: Is a directory."
    assert {one.name for one in tmp_path.iterdir()} == {"file", "file.gz"}


@pytest.mark.parametrize("method", ["open", "unlink"])
def test_a_broken_file_that_cannot_be_mended_is_refused(server, tmp_path, monkeypatch, method):
    (tmp_path / "file.gz").write_bytes(b"broken")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    where = download if method == "open" else type(tmp_path)
    monkeypatch.setattr(where, method, refuse, raising=False)
    refusal = refusal_of(server.address("file.gz"), tmp_path)
    assert refusal == f"{tmp_path / 'file.gz'} cannot be read or written: Permission denied."


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"SEQ2SEQ_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/seq2seq"),
        ({"XDG_CACHE_HOME": ""}, "/home/somebody/.cache/seq2seq"),
    ],
)
def test_the_cache_is_where_the_environment_says(monkeypatch, variables, folder):
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("SEQ2SEQ_CACHE", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == folder
