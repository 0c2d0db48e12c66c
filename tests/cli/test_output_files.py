"""The writer of all files: whole or not at all, over nothing that is not a file of its own."""

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from poscount.cli import main
from poscount.errors import InputError
from poscount.example import example_path
from poscount.storage.writer import PREFIX, check_output, replacing, write_whole

EXAMPLE = {name: str(example_path(name)) for name in ("positives.csv", "trap.csv.gz")}


def left_over(folder):
    return [file.name for file in folder.iterdir() if file.name.startswith(PREFIX)]


def test_new_content_replaces_old_and_leaves_nothing_else(tmp_path):
    for content in (b"one", b"two" * 1000):
        write_whole(tmp_path / "x", content)
        assert (tmp_path / "x").read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), ValueError()])
def test_a_block_that_fails_leaves_the_old_content(tmp_path, error):
    write_whole(tmp_path / "x", b"old")

    def fail():
        with replacing(tmp_path / "x") as temporary:
            temporary.write_bytes(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert (tmp_path / "x").read_bytes() == b"old"
    assert left_over(tmp_path) == []


def test_permissions_are_kept_and_new_files_have_the_usual_ones(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"")
        (tmp_path / "old").touch()
        (tmp_path / "old").chmod(0o604)
        write_whole(tmp_path / "old", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o604


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed_and_stay(tmp_path, exists):
    target = tmp_path / "elsewhere" / "file"
    target.parent.mkdir()
    if exists:
        target.write_bytes(b"old")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("elsewhere/file")
    write_whole(tmp_path / "one", b"new")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "one").readlink().name == "two"


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        cases = {"fifo": "a pipe", "folder": "a directory", "link": "a device"}
        for name, kind in {**cases, "socket": "a socket"}.items():
            before = os.lstat(tmp_path / name)
            for write in (check_output, lambda path: write_whole(path, b"x")):
                with pytest.raises(InputError, match=f"{name}: this is {kind}; write to"):
                    write(tmp_path / name)
            assert os.lstat(tmp_path / name).st_ino == before.st_ino


@pytest.mark.parametrize("kind", ["itself", "hard link", "link", "link to the output", "other way"])
def test_an_output_must_not_be_an_input(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    given, output = tmp_path / "in.csv", tmp_path / "out.csv"
    given.write_text("x\n1\n")
    if kind == "itself":
        output = "./in.csv"
    elif kind == "hard link":
        os.link(given, output)
    elif kind == "link":
        output.symlink_to(given)
    elif kind == "link to the output":
        given.rename(output)
        given.symlink_to(output)
    else:
        (tmp_path / "folder").symlink_to(tmp_path)
        output = tmp_path / "folder" / "in.csv"
    with pytest.raises(InputError, match=r"this is also an input .*in\.csv"):
        check_output(output, ["-", tmp_path / "missing.csv", given])
    check_output(tmp_path / "third.csv", [given])


def loop(folder):
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


@pytest.mark.parametrize(
    ("path", "number"),
    [
        (lambda folder: folder / ("x" * 256), errno.ENAMETOOLONG),
        (loop, errno.ELOOP),
    ],
)
@pytest.mark.parametrize("write", [check_output, lambda path: write_whole(path, b"x")])
def test_errors_name_the_file_that_was_asked_for(tmp_path, path, number, write):
    path = path(tmp_path)
    with pytest.raises(OSError, match=os.strerror(number)[-12:]) as caught:
        write(path)
    assert caught.value.errno == number
    assert caught.value.filename == str(path)
    assert PREFIX not in str(caught.value)


@pytest.mark.parametrize("write", [check_output, lambda path: write_whole(path, b"x")])
def test_a_missing_directory_is_named_as_it_was_given(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("far/away/x")
    named = {"nowhere/x": "nowhere", "file/x": "file", "link": str(tmp_path / "far" / "away")}
    for path, folder in named.items():
        with pytest.raises(FileNotFoundError, match="There is no such directory") as caught:
            write(path)
        assert caught.value.filename == folder


def test_the_longest_name_and_odd_names_can_be_written(tmp_path):
    for name in ("x" * 255, "[bold]\n\x1b", " ", "%s{}", "ä" * 127):
        write_whole(tmp_path / name, b"1")
        assert (tmp_path / name).read_bytes() == b"1"


def test_a_write_protected_file_and_directory_stay_as_they_are(tmp_path, monkeypatch):
    # As root, who may run the tests, is told that everything is allowed.
    protected = {str(tmp_path / "file"), str(tmp_path / "folder")}
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) not in protected)
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(PermissionError, match="write-protected"):
        write_whole(tmp_path / "file", b"new")
    with pytest.raises(PermissionError, match="not allowed to write to this directory"):
        write_whole(tmp_path / "folder" / "x", b"new")


def test_a_killed_writer_leaves_the_old_content(tmp_path):
    code = (
        "import sys, time\nfrom poscount.storage.writer import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "  file.write_bytes(b'half'); print(flush=True); time.sleep(60)"
    )
    write_whole(tmp_path / "x", b"old")
    command = [sys.executable, "-c", code, str(tmp_path / "x")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    assert (tmp_path / "x").read_bytes() == b"old"
    write_whole(tmp_path / "x", b"next")
    assert (tmp_path / "x").read_bytes() == b"next"


def test_many_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    contents = [bytes([i]) * 50_000 for i in range(8)]
    errors = []

    def write(content):
        try:
            for _ in range(40):
                write_whole(tmp_path / "x", content)
                assert (tmp_path / "x").read_bytes() in contents
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=[content]) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def run(*arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["poscount", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rows = example_path("positives.csv").read_text().splitlines()[:200]
    (folder / "p.csv").write_text("\n".join(rows) + "\n")
    (folder / "u.csv").write_text("\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        model = folder / "m.poscount"
        assert not run("fit", folder / "p.csv", "-o", model, "--method", "pat", monkeypatch=patch)
        for name in ("a", "b"):
            counts = folder / f"{name}.counts"
            assert not run("count", model, folder / "u.csv", "-o", counts, monkeypatch=patch)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "fit p.csv -o p.csv",
        "fit *.csv -o u.csv",
        "fit . -o p.csv",
        "fit p.csv --calibration m.poscount -o m.poscount",
        "count m.poscount u.csv -o m.poscount",
        "count m.poscount u.csv -o u.csv",
        "merge a.counts b.counts -o b.counts",
        "quantify m.poscount u.csv --plot u.svg",
        "estimate p.csv u.csv --plot u.svg",
        "estimate p.csv u.csv --negatives p.csv -o p.csv",
        "trend m.poscount u.csv --by x -o u.csv",
        "diagnose m.poscount u.csv --positives p.csv -o p.csv",
        "diagnose m.poscount u.csv --reference p.csv -o p.csv",
        "calibrate p.csv -o p.csv",
    ],
)
def test_no_command_writes_over_its_inputs(command, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    (files / "u.svg").unlink(missing_ok=True)
    (files / "u.svg").symlink_to("u.csv")
    before = {file.name: file.read_bytes() for file in files.iterdir() if file.is_file()}
    assert run(*command.split(), monkeypatch=monkeypatch) == 2
    assert "this is also an input" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in files.iterdir() if file.is_file()} == before


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fit p.csv -o /dev/full", "/dev/full: this is a device"),
        ("count m.poscount u.csv -o .", ".: this is a directory"),
        ("demo -o x.docx", "x.docx: its extension names no format of pictures"),
        ("quantify m.poscount u.csv --plot -", "-: its extension names no format"),
        ("quantify m.poscount u.csv -o x.xlsx", "x.xlsx: its extension names no format of this"),
    ],
)
def test_outputs_are_refused_before_the_work(command, sentence, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    started = time.perf_counter()
    assert run(*command.split(), monkeypatch=monkeypatch) == 2
    assert sentence in capsys.readouterr().err
    assert time.perf_counter() - started < 5


def test_a_model_can_go_through_a_pipe(files, tmp_path):
    command = [sys.executable, "-m", "poscount", "fit", str(files / "p.csv"), "--method", "pat"]
    done = subprocess.run([*command, "-o", "-"], capture_output=True, check=True)
    assert done.stdout == (files / "m.poscount").read_bytes()
    assert b"learned from" in done.stderr
