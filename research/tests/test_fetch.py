"""Fetching data sets: from a real HTTP server on this machine."""

import hashlib
import http.server
import io
import json
import socket
import threading
import zipfile
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest
import typer.testing

from poscount.errors import InputError
from research.__main__ import app
from research.datasets import CATALOG, converters, fetch, fetching, load
from research.datasets.dataset import checksum


class Site:
    """A server of files in memory, and the ways in which it misbehaves."""

    def __init__(self):
        self.files = {}
        self.requests = []
        self.send_at_most = None  # breaks off after that many bytes
        self.stall_after = None  # falls silent after that many bytes
        self.released = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        site = self.server.site
        site.requests.append(self.path)
        content = site.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if site.stall_after is not None:
            self.wfile.write(content[: site.stall_after])
            self.wfile.flush()
            site.released.wait(10)
            return
        self.wfile.write(content[: site.send_at_most])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site():
    site = Site()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.site = site
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        site.base = f"http://127.0.0.1:{server.server_port}"
        yield site
        site.released.set()
        server.shutdown()
        thread.join()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in members.items():
            # Without a date: equal content must be equal bytes, in every worker of the tests.
            file.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def some(n, first=0, separator=","):
    """So many numbers in a line."""
    return separator.join(str(first + i) for i in range(n))


def cells(n, first=0):
    return some(n, first).split(",")


FRAME = some(12, 1, " ") + " \n"
COEFFICIENTS = [f"coefficient{i}" for i in range(1, 13)]
ARFF = "".join(f"@ATTRIBUTE {name} NUMERIC\n" for name in ["utterance", "frame", *COEFFICIENTS])
MFCC = ",".join(f"MFCCs_ {i}" for i in range(1, 23))
LETTERS = "author,letter,glob_x\na1,q,1\na1,p,2\na2,g,3\n"

# What the sources offer, in small: the classes of the rows, and the first row without its class.
FORMS = {
    "letter": (
        zipped({"letter-recognition.data": f"T,{some(16)}\nW,{some(16, 7)}\n", "names": "prose"}),
        ["T", "W"],
        cells(16),
    ),
    "pendigits": (
        # Padded with spaces.
        zipped(
            {
                "folder/pendigits.tra": f" 4, {some(15, 1, ', ')}, 8\n",
                "pendigits.tes": f"{some(16)},5\n",
            }
        ),
        ["8", "5"],
        ["4", *cells(15, 1)],
    ),
    "htru2": (zipped({"HTRU_2.csv": f"{some(8)},0\r\n{some(8)},1\r\n"}), ["0", "1"], cells(8)),
    "wine": (
        zipped(
            {
                f"winequality-{colour}.csv": f'"fixed acidity";"pH";"quality"\n{values};5\n'
                for colour, values in {"white": "3;4", "red": "1;2"}.items()
            }
        ),
        ["red", "white"],
        ["1", "2"],
    ),
    "anuran_calls": (
        zipped(
            {
                "Frogs_MFCCs.csv": f"{MFCC},Family,Genus,Species,RecordID\n"
                f"{some(22)},Hylidae,Hyla,minuta,7\n"
            }
        ),
        ["Hylidae"],
        [*cells(22), "Hyla", "minuta"],
    ),
    "japanese_vowels": (
        zipped(
            {
                "ae.train": f"{FRAME}{FRAME}\n{FRAME}\n",
                "size_ae.train": "1 1",
                "ae.test": FRAME,
                "size_ae.test": "0 1",
            }
        ),
        ["1", "1", "2", "2"],
        cells(12, 1),
    ),
    "bng_japanese_vowels": (
        f"% made\n\n{ARFF}@attribute 'speaker' {{1,2}}\n\n@data\n"
        f"1,2,{some(12)},'1'\n%\n1,3,{some(12)},'2'\n".encode(),
        ["1", "2"],
        cells(12),
    ),
    "handwritten": (LETTERS.encode(), ["q", "p", "g"], ["a1", "1"]),
    "handwritten_qg": (LETTERS.encode(), ["q", "g"], ["a1", "1"]),
}


def offer(site, key, content):
    """Put the raw form where the catalog's address leads to."""
    if key != "B":
        site.files[urlsplit(CATALOG[key].address).path] = content
        return
    description = {
        "url": "https://openml.example/data/1/bng.arff",
        "md5_checksum": hashlib.md5(content).hexdigest(),
    }
    answer = json.dumps({"data_set_description": description}).encode()
    site.files.update({"/api/v1/json/data/1214": answer, "/data/1/bng.arff": content})


@pytest.fixture
def small(site, monkeypatch, data_home):
    """Makes a data set small, and puts it on the server."""

    def make(key, **changes):
        content, labels, first = FORMS[CATALOG[key].converter]
        entry = replace(
            CATALOG[key], rows=len(labels), n_features=len(first), positive=labels[0], sha256=None
        )
        monkeypatch.setitem(CATALOG, key, replace(entry, **changes))
        offer(site, key, content)

    return make


def left_over(directory):
    return sorted(path.name for path in directory.iterdir())


# Conversion


@pytest.mark.parametrize("name", FORMS)
def test_every_raw_form_is_converted(name, tmp_path):
    content, labels, first = FORMS[name]
    path = tmp_path / "raw"
    path.write_bytes(content)
    header, *rows = converters.CONVERTERS[name](path)
    assert header[-1] == "class"
    assert {len(row) for row in rows} == {len(header)}
    assert [row[-1] for row in rows] == labels
    assert rows[0][:-1] == first
    (entry,) = [each for each in CATALOG.values() if each.converter == name]
    assert set(entry.dropped) <= set(header)
    if name not in ("wine", "handwritten", "handwritten_qg"):  # here with fewer columns
        assert len(header) == entry.n_features + len(entry.dropped) + 1


def test_every_converter_has_a_test():
    assert set(converters.CONVERTERS) == {*FORMS, "arabic_digit"}


def test_what_is_fetched_can_be_loaded(site, small, data_home):
    known = checksum(
        ["fixed_acidity", "pH"], np.array([[1.0, 2], [3, 4]]), np.array(["red", "white"])
    )
    small("W", sha256=known)
    path = fetch("W", base=site.base)
    assert path == data_home / "wine.csv.gz"
    assert left_over(data_home) == [path.name]
    assert load("W").features.tolist() == [[1, 2], [3, 4]]


def test_the_moments_of_an_utterance(tmp_path):
    # Frames 1, 2, 6 of every coefficient: mean 3, variance (4 + 1 + 9) / 3.
    block = "".join(" ".join([value] * 13) + "\n" for value in ("1", "2", "6"))
    part = "\n".join([block] * 20)
    path = tmp_path / "raw.zip"
    members = {"Train_Arabic_Digit.txt": part, "Test_Arabic_Digit.txt": f"\n\n{part}\n\n"}
    path.write_bytes(zipped(members))
    _, *rows = converters.arabic_digit(path)
    assert len(rows) == 40
    assert [float(cell) for cell in rows[0][:26]] == pytest.approx([3, np.sqrt(14 / 3)] * 13)
    assert [row[-1] for row in rows[:20]] == sorted("0123456789" * 2)
    assert [row[-2] for row in rows[:4]] == ["male", "female", "male", "female"]


def test_a_missing_utterance_is_not_given_to_another_speaker(tmp_path):
    path = tmp_path / "raw.zip"
    frames = "1 2 3 4 5 6 7 8 9 10 11 12 \n"
    members = {"ae.train": f"{frames}\n{frames}", "size_ae.train": "2 1"}
    path.write_bytes(zipped(members))
    with pytest.raises(ValueError, match="shorter"):
        list(converters.japanese_vowels(path))


def test_equal_downloads_give_equal_bytes(site, small):
    small("W")
    path = fetch("W", base=site.base)
    first = path.read_bytes()
    path.unlink()
    assert fetch("W", base=site.base).read_bytes() == first


def test_what_is_here_is_not_downloaded_again(site, small):
    small("W")
    path = fetch("W", base=site.base)
    site.requests.clear()
    assert fetch("wine", base=site.base) == path
    assert not site.requests


# What can go wrong


def refused(name, site):
    with pytest.raises(InputError) as caught:
        fetch(name, base=site.base)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_wrong_checksum_is_not_kept(site, small, data_home):
    small("L", sha256="0" * 64)
    sentence = refused("L", site)
    assert "checksum of the values is" in sentence
    assert "It is not kept" in sentence
    assert left_over(data_home) == []


def test_an_address_without_the_file(site, small, data_home):
    small("L")
    site.files.clear()
    assert "it cannot be downloaded (HTTP Error 404: Not Found)" in refused("L", site)
    assert left_over(data_home) == []


def test_nobody_listens(small, site):
    small("L")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        site.base = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert "refused" in refused("L", site)


def test_a_download_that_breaks_off(site, small, data_home, monkeypatch):
    small("L")
    (size,) = map(len, site.files.values())
    site.send_at_most = 200
    assert f"broke off after 200 of {size} bytes" in refused("L", site)
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    site.stall_after = 100
    assert "broke off (TimeoutError('timed out'))" in refused("L", site)
    assert left_over(data_home) == []
    site.send_at_most = site.stall_after = None
    assert fetch("L", base=site.base).exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"<html>sorry</html>", "File is not a zip file"),
        (zipped({"other.data": "T,1\n"}), "0 files letter-recognition.data, not one"),
        (zipped({"letter-recognition.data": "T,x\n" * 40}), "line 2"),
        (zipped({"letter-recognition.data": ""}), "0 rows x 16 features"),
    ],
    ids=["no archive", "other file", "other rows", "no rows"],
)
def test_a_file_in_another_form(content, sentence, site, small, data_home):
    small("L")
    offer(site, "L", content)
    answer = refused("L", site)
    assert sentence in answer
    assert site.base in answer
    assert left_over(data_home) == []


def test_openml_s_own_checksum(site, small):
    small("B")
    site.files["/data/1/bng.arff"] += b"% one more line\n"
    assert "MD5 is not the one that the source states" in refused("B", site)
    for answer in (b"{}", b"<html>"):
        site.files["/api/v1/json/data/1214"] = answer
        assert "does not say where the file is" in refused("B", site)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("N", "N is not fetched.*without contacting them first"),
        ("insects", "I is not fetched"),
        ("overlap-half", "generated when it is loaded"),
        ("X", "no data set 'X'; it has A, B, C"),
    ],
)
def test_what_is_never_fetched(name, sentence, site, data_home):
    with pytest.raises(ValueError, match=sentence):
        fetch(name, base=site.base)
    assert not site.requests


def test_only_the_network_is_read(small, tmp_path):
    small("L")
    with pytest.raises(InputError, match="only http and https"):
        fetch("L", base=f"file://{tmp_path}")


def test_progress_ends_with_everything(site, small):
    small("W")
    seen = []
    fetch("W", base=site.base, progress=lambda done, total: seen.append((done, total)))
    (size,) = map(len, site.files.values())
    assert seen[-1] == (size, size)


def test_the_command(site, small, data_home):
    small("W")
    done = typer.testing.CliRunner().invoke(app, ["datasets", "fetch", "W", "--base", site.base])
    assert (done.exit_code, done.stdout) == (0, f"W: {data_home / 'wine.csv.gz'}\n")
