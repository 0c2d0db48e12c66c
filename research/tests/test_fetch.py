"""Fetching data sets: from a real HTTP server on this machine."""

import hashlib
import http.server
import json
import socket
import threading
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest
import typer.testing

from poscount.errors import InputError
from research.__main__ import app
from research.datasets import CATALOG, converters, fetch, fetching, load
from research.datasets.dataset import checksum, read_content
from research.tests import raw_forms


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


HEADERS = {
    "A": [f"mfcc_{i}_{what}" for i in range(1, 14) for what in ("mu", "sd")] + ["sex"],
    "B": [f"coefficient{i}" for i in range(1, 13)],
    "C": [*(f"MFCCs_{i}" for i in range(1, 23)), "genus", "species"],
    "H": ["author", "glob_x", "glob_y"],
    "L": [
        *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar"),
        *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
    ],
    "P": [f"input{i}" for i in range(1, 17)],
    "R": [
        *("meanprof", "sd-prof", "exk-prof", "skewness-prof"),
        *("meandmsnr", "sd-dmsnr", "exk-dmsnr", "skewness-dmsnr"),
    ],
    "W": ["fixed_acidity", "pH", "alcohol"],
    "vowels": [f"coefficient{i}" for i in range(1, 13)],
    "q-g": ["author", "glob_x", "glob_y"],
}
# In the order in which the sources have them.
CLASSES = {
    "A": [str(digit) for digit in range(10) for _ in range(8)],
    "C": ["Hylidae", "Bufonidae", "Leptodactylidae"] * 9,
    "H": ["q", "p", "g"] * 9,
    "W": ["red"] * 9 + ["white"] * 12,
    "q-g": ["q", "g"] * 9,
    "vowels": sorted("123456789" * 13) + sorted("123456789" * 11),
}
TEXT = {
    "sex": lambda i: "male" if i % 8 < 4 else "female",
    "genus": lambda i: f"Genus{i % 4}",
    "species": lambda i: f"Species{i % 4}",
    "author": lambda i: f"Author{i % 3}",
}


def stored_form(key):
    """A small data set in the stored form, as header and rows of text."""
    rng = np.random.default_rng(list(key.encode()))
    classes = CLASSES.get(key, ["5", "W", "1", "3"] * 10)
    rows = []
    for i, label in enumerate(classes):
        numbers = [str(round(x, 5)) for x in rng.normal(3, 0.5, size=len(HEADERS[key]))]
        cells = [
            TEXT[name](i) if name in TEXT else number
            for name, number in zip(HEADERS[key], numbers, strict=True)
        ]
        rows.append([*cells, label])
    return [*HEADERS[key], "class"], rows


def values(key, header, rows):
    """Names of the features, their values and the labels, read in the plainest way."""
    places = [i for i, name in enumerate(header[:-1]) if name not in CATALOG[key].dropped]
    features = np.array([[float(row[i]) for i in places] for row in rows])
    return [header[i] for i in places], features, np.array([row[-1] for row in rows])


def raw(key, header, rows):
    name = CATALOG[key].converter
    return getattr(raw_forms, "handwritten" if name == "handwritten_qg" else name)(header, rows)


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
    """Makes a data set small, and puts it on the server; gives its values."""

    def make(key, **changes):
        header, rows = stored_form(key)
        names, features, labels = values(key, header, rows)
        known = None if key in "BH" else checksum(names, features, labels)
        size = {"rows": len(rows), "n_features": len(names)}
        entry = replace(CATALOG[key], **{**size, "sha256": known, **changes})
        monkeypatch.setitem(CATALOG, key, entry)
        offer(site, key, raw(key, header, rows))
        return names, features, labels

    return make


def left_over(directory):
    return sorted(path.name for path in directory.iterdir())


# Conversion


@pytest.mark.parametrize("key", HEADERS)
def test_every_raw_form_is_converted(key, site, small, data_home):
    names, features, labels = small(key)
    path = fetch(key, base=site.base)
    assert path == data_home / f"{CATALOG[key].file}.csv.gz"
    assert left_over(data_home) == [path.name]
    content = read_content(path, CATALOG[key].dropped)
    assert list(content.feature_names) == names
    if key == "A":
        # UCI's order: first the training part of every digit; and means are computed.
        order, expected = np.argsort(content.features[:, 0]), np.argsort(features[:, 0])
        content = replace(content, features=content.features[order], labels=content.labels[order])
        features, labels = features[expected], labels[expected]
    np.testing.assert_allclose(content.features, features, rtol=1e-12 if key == "A" else 0)
    assert content.labels.tolist() == labels.tolist()
    assert load(key).positive == CATALOG[key].positive


def test_the_moments_of_an_utterance(tmp_path):
    # Frames 1, 2, 6 of every coefficient: mean 3, variance (4 + 1 + 9) / 3.
    block = "".join(" ".join([value] * 13) + "\n" for value in ("1", "2", "6"))
    part = "\n".join([block] * 20)
    path = tmp_path / "raw.zip"
    members = {"Train_Arabic_Digit.txt": part, "Test_Arabic_Digit.txt": f"\n\n{part}\n\n"}
    path.write_bytes(raw_forms.zipped(members))
    _, *rows = converters.arabic_digit(path)
    assert len(rows) == 40
    assert [float(cell) for cell in rows[0][:26]] == pytest.approx([3, np.sqrt(14 / 3)] * 13)
    assert [row[-1] for row in rows[:20]] == sorted("0123456789" * 2)
    assert [row[-2] for row in rows[:4]] == ["male", "female", "male", "female"]


def test_a_missing_utterance_is_not_given_to_another_speaker(tmp_path):
    path = tmp_path / "raw.zip"
    frames = "1 2 3 4 5 6 7 8 9 10 11 12 \n"
    members = {"ae.train": f"{frames}\n{frames}", "size_ae.train": "2 1"}
    path.write_bytes(raw_forms.zipped(members))
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
        (raw_forms.zipped({"other.data": "T,1\n"}), "0 files letter-recognition.data, not one"),
        (raw_forms.zipped({"letter-recognition.data": "T,x\n" * 40}), "line 2"),
        (raw_forms.zipped({"letter-recognition.data": ""}), "0 rows x 16 features"),
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
