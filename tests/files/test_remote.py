"""Files behind URLs, from servers on this machine: an S3 store (moto's) and HTTP."""

import gzip
import http.server
import io
import re
import socket
import threading
from functools import partial

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from poscount import InputError
from poscount.engines import count
from poscount.files import remote
from poscount.files.reading import expand, read_table

WRITERS = {
    "parquet": lambda table, file: pq.write_table(table, file, row_group_size=700),
    "csv": pyarrow.csv.write_csv,
    "csv.gz": lambda table, file: file.write(gzip.compress(content(table, "csv"))),
    "feather": pyarrow.feather.write_feather,
    "arrow": lambda table, file: stream(table, file),
}


def stream(table, file):
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def content(table, kind):
    buffer = io.BytesIO()
    WRITERS[kind](table, buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def folder(trap, tmp_path_factory):
    """Files of every kind, and some that are not to be read."""
    tmp_path = tmp_path_factory.mktemp("remote")
    rows = trap.slice(0, 1500), trap.slice(1500)
    for kind in WRITERS:
        place = tmp_path / "traps" / kind
        place.mkdir(parents=True)
        for i, part in enumerate(rows):
            (place / f"part {i}.{kind}").write_bytes(content(part, kind))
        (place / "_SUCCESS").write_bytes(b"")
    for night in ("mon", "tue"):
        place = tmp_path / "traps" / "hive" / f"night={night}"
        place.mkdir(parents=True)
        part = trap.filter(pa.compute.equal(trap["night"], night)).drop_columns("night")
        (place / "0.parquet").write_bytes(content(part, "parquet"))
    (tmp_path / "traps" / "empty.csv").write_bytes(b"")
    (tmp_path / "traps" / "damaged.parquet").write_bytes(b"PAR1 and no more")
    return tmp_path


@pytest.fixture(scope="module")
def s3_server():
    server = pytest.importorskip("moto.server")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()


CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="module")
def bucket(s3_server, folder):
    """The files in the S3 store."""
    s3 = pyarrow.fs.S3FileSystem(
        endpoint_override=s3_server,
        allow_bucket_creation=True,
        access_key=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        secret_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        region=CREDENTIALS["AWS_DEFAULT_REGION"],
    )
    s3.create_dir("bucket")
    for file in folder.rglob("*"):
        if file.is_file():
            name = f"bucket/{file.relative_to(folder)}"
            with s3.open_output_stream(name, compression=None) as out:
                out.write(file.read_bytes())
    return "s3://bucket"


@pytest.fixture
def aws(monkeypatch):
    """Sets where S3 is and who we are, and forgets who we were."""
    forget = remote._connected.cache_clear

    def use(endpoint):
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": endpoint}.items():
            monkeypatch.setenv(name, value)
        forget()

    yield use
    forget()


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files with ranges, as most servers have them; some are forbidden."""

    ranges = True

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        if "forbidden" in self.path:
            self.send_error(403)
            return
        path = self.translate_path(self.path)
        try:
            with open(path, "rb") as file:
                whole = file.read()
        except IsADirectoryError:
            (super().do_GET if body else super().do_HEAD)()
            return
        except OSError:
            self.send_error(404)
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = map(int, found.groups()) if found and self.ranges else (0, len(whole) - 1)
        part = whole[first : last + 1]
        self.send_response(206 if found and self.ranges else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes" if self.ranges else "none")
        if found and self.ranges:
            end = first + len(part) - 1
            self.send_header("Content-Range", f"bytes {first}-{end}/{len(whole)}")
        self.end_headers()
        if body:
            self.wfile.write(part)


@pytest.fixture(scope="module")
def serve(folder):
    """Starts HTTP servers, and stops them."""
    servers = []

    def start(handler):
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), partial(handler, directory=str(folder))
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def web(serve):
    pytest.importorskip("aiohttp")
    return serve(Handler)


@pytest.fixture(params=["s3", "http"])
def store(request):
    """The same files behind one kind of URL."""
    if request.param == "http":
        return request.getfixturevalue("web")
    request.getfixturevalue("aws")(request.getfixturevalue("s3_server"))
    return request.getfixturevalue("bucket")


@pytest.fixture
def nobody():
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def sentence(source):
    with pytest.raises(InputError) as caught:
        [read_table(file) for file in expand([source])]
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Files, directories and globs


@pytest.mark.parametrize("kind", WRITERS)
def test_files_behind_urls_are_counted_as_in_memory(named_pat, trap, store, kind):
    urls = [f"{store}/traps/{kind}/part {i}.{kind}" for i in (0, 1)]
    assert count(named_pat, urls, n_jobs=2) == named_pat.count(trap)
    assert count(named_pat, urls[0]) == named_pat.count(trap.slice(0, 1500))


@pytest.mark.parametrize("pattern", ["/traps/csv/", "/traps/csv/*.csv", "/**/part*[0-9].csv"])
def test_directories_and_globs(store, pattern):
    ending = [f"/traps/csv/part {i}.csv" for i in (0, 1)]
    assert [url.replace("%20", " ").removeprefix(store) for url in expand([store + pattern])] == (
        ending
    )


def test_directories_of_a_store_need_no_slash_and_are_never_counted_twice(s3_server, aws, bucket):
    aws(s3_server)
    found = expand([f"{bucket}/traps/{name}" for name in ("csv", "c*/*.csv", "csv/*0.csv")])
    assert found == [f"{bucket}/traps/csv/part {i}.csv" for i in (0, 1)]
    # A pattern that matches directories means what is in them; "empty.csv" itself matches, too.
    assert len(expand([f"{bucket}/traps/*e*"])) == 2 + 2 + 2 + 1 + 1


def test_values_in_paths_can_be_grouped_by(named_pat, trap, store):
    names = [f"{store}/traps/hive/night={night}/0.parquet" for night in ("mon", "tue")]
    nights = pa.array(["mon", "tue"])
    rows = trap.filter(pa.compute.is_in(trap["night"], value_set=nights))
    assert count(named_pat, names, by="night") == named_pat.count_by(rows, "night")


def test_progress_is_in_bytes(named_pat, folder, store):
    seen = []
    count(named_pat, f"{store}/traps/csv/part 0.csv", progress=lambda *pair: seen.append(pair))
    size = (folder / "traps/csv/part 0.csv").stat().st_size
    assert seen[-1] == (size, size)


def test_the_query_of_a_url_is_not_part_of_its_name(web):
    assert read_table(f"{web}/traps/csv/part%200.csv?token=a/b=c.parquet").num_rows == 1500


def test_a_server_without_ranges(serve, trap):
    pytest.importorskip("aiohttp")
    whole = serve(type("Whole", (Handler,), {"ranges": False}))
    assert read_table(f"{whole}/traps/csv/part 0.csv").num_rows == 1500
    assert read_table(f"{whole}/traps/csv.gz/part 0.csv.gz").num_rows == 1500
    assert "gives files only as a whole" in sentence(f"{whole}/traps/parquet/part 0.parquet")


# Errors


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/traps/none.csv", "there is no such file"),
        ("/traps/none/*.csv", "no file there matches, or ends in .csv"),
        ("/traps/empty.csv", "the file is empty."),
        ("/traps/damaged.parquet", "this is not Parquet, although its extension says so"),
    ],
)
def test_errors_name_the_url(store, name, reason):
    assert sentence(store + name).startswith(f"{store}{name}: {reason}")


def test_an_unknown_bucket(s3_server, aws):
    aws(s3_server)
    assert sentence("s3://nobody-has-this/trap.csv").endswith("there is no such file or directory.")


def test_forbidden_files(web, serve, aws):
    reason = "you are not allowed to read it; check the credentials."
    url = f"{web}/forbidden.csv"
    assert sentence(url) == f"{url}: {reason}"
    pytest.importorskip("aiohttp")
    aws(f"{web}/forbidden")
    assert sentence("s3://traps/trap.csv") == f"s3://traps/trap.csv: {reason}"


def test_nobody_listens(nobody, aws, monkeypatch):
    pytest.importorskip("aiohttp")
    url = f"http://127.0.0.1:{nobody}/trap.csv"
    reason = "its server cannot be reached; check the address and the network."
    assert sentence(url) == f"{url}: {reason}"
    aws(f"http://127.0.0.1:{nobody}")
    # Without waiting for further attempts.
    impatient = pyarrow.fs.S3FileSystem(
        endpoint_override=f"http://127.0.0.1:{nobody}",
        retry_strategy=pyarrow.fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )
    monkeypatch.setattr(remote, "_connected", lambda scheme, host: (impatient, host))
    assert sentence("s3://traps/trap.csv") == f"s3://traps/trap.csv: {reason}"


def test_a_server_that_goes_away_is_not_a_damaged_file(web, monkeypatch, trap):
    for kind in ("csv", "parquet"):
        url = f"{web}/traps/{kind}/part 0.{kind}"
        expand([url])
        monkeypatch.setattr(
            remote._place(url).filesystem.handler.fs,
            "_open",
            lambda *_, **__: Broken(),
        )
        assert "its server cannot be reached" in sentence(url)


class Broken(io.BytesIO):
    """A file whose server has gone away."""

    def __init__(self):
        super().__init__(bytes(10_000))

    def read(self, *_):
        raise ConnectionResetError("it has gone away")


def test_unknown_schemes_and_missing_packages(monkeypatch):
    assert sentence("carrier-pigeon://loft/trap.csv").startswith(
        "carrier-pigeon://loft: nothing here reads carrier-pigeon://; use a path"
    )
    import fsspec

    def absent(*_, **__):
        raise ImportError("HTTPFileSystem requires aiohttp")

    remote._connected.cache_clear()
    monkeypatch.setattr(fsspec.core, "url_to_fs", absent)
    with pytest.raises(ImportError, match=r'pip install "poscount\[remote\]"'):
        expand(["https://example.org/trap.csv"])


@pytest.mark.parametrize("path", ["C:/trap.csv", "traps/a.csv", "a:b.csv", "-", "s3:/x"])
def test_paths_are_not_urls(path):
    assert not remote.is_url(path)
