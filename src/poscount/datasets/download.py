"""Download one file over HTTP, resume an interrupted download, and say what went wrong."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from poscount import __version__
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.storage.writer import write_whole

TIMEOUT = 30.0
_CHUNK = 1 << 16
_AGENT = f"poscount/{__version__}"


def download(address: str, path: Path, progress: OnProgress | None = None) -> None:
    """Download into a file; the part that arrived in an earlier attempt is kept and completed.

    A part is completed only if the server says by ETag or date that the file is still the same, and
    can send the rest; otherwise the whole file is downloaded again.

    Parameters
    ----------
    address : str
        An http or https address.
    path : Path
        The file to write. Until it is complete, there is a note beside it.
    progress : callable, optional
        Called as ``progress(done, total)`` with bytes; the total is 0 if the server does not say.

    Raises
    ------
    InputError
        The server cannot be reached, has no such file, sends nothing for `TIMEOUT` seconds or
        breaks off; or the file cannot be written. The next attempt resumes from there.
    """
    note = path.with_name(f"{path.name}.json")
    with _explained(address, path):
        request = _request(address)
        validator = _validator_of_part(address, path, note)
        if validator:
            request.add_header("Range", f"bytes={path.stat().st_size}-")
            request.add_header("If-Range", validator)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            done = _already_here(response, path, address)
            if done == 0:
                write_whole(note, json.dumps([address, _validator(response)]).encode())
            length = response.headers.get("Content-Length")
            total = done + int(length) if length else 0
            # Without buffers on either side, so that whatever has arrived is kept.
            with open(path, "ab" if done else "wb", buffering=0) as file:
                while chunk := response.read1(_CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    if progress:
                        progress(done, total)
        if total and done != total:
            raise InputError(
                f"the download broke off after {done} of {total} bytes; try again, and it resumes "
                "from there if the server allows it.",
                file=address,
            )
        note.unlink()


def read_json(address: str) -> Any:
    """Download a short JSON document."""
    with (
        _explained(address, None),
        urllib.request.urlopen(_request(address), timeout=TIMEOUT) as response,
    ):
        try:
            return json.loads(response.read(1 << 20))
        except ValueError as error:
            raise InputError("the answer is not JSON.", file=address) from error


def _request(address: str) -> urllib.request.Request:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError("only http and https addresses can be fetched.", file=address)
    return urllib.request.Request(address, headers={"User-Agent": _AGENT})


def _validator_of_part(address: str, path: Path, note: Path) -> str | None:
    """The tag or date of the file on the server that the part here belongs to."""
    if not note.exists() or not path.exists() or path.stat().st_size == 0:
        return None
    try:
        noted, validator = json.loads(note.read_bytes())
    except ValueError:
        return None
    return validator if noted == address else None


def _validator(response: Any) -> str | None:
    tag = response.headers.get("ETag")
    # A weak tag promises the same meaning, not the same bytes.
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _already_here(response: Any, path: Path, address: str) -> int:
    """Number of bytes of the file that come before those in the response."""
    if response.status != 206:
        return 0
    span = response.headers.get("Content-Range", "")
    size = path.stat().st_size
    if not span.startswith(f"bytes {size}-"):
        raise InputError(
            f"asked for the bytes from {size} on, the server sent {span!r}.", file=address
        )
    return size


@contextmanager
def _explained(address: str, path: Path | None) -> Iterator[None]:
    """Turn errors of the network into one sentence."""
    host = urlsplit(address).netloc
    try:
        yield
    except InputError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and path is not None:
            path.unlink(missing_ok=True)
        what = (
            "the file is no longer there; its page may say where it is now"
            if error.code in (404, 410)
            else "try again later"
        )
        raise InputError(
            f"the server answers {error.code} {error.reason}; {what}.", file=address
        ) from error
    except TimeoutError as error:
        raise _silent(address, host) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _silent(address, host) from error
        raise InputError(
            f"{host} cannot be reached ({error.reason}); are you offline? Files that you already "
            "have can be put into the data directory by hand.",
            file=address,
        ) from error
    except (http.client.HTTPException, ConnectionError) as error:
        raise InputError(
            f"the download broke off ({error!r}); try again, and it resumes from there if the "
            "server allows it.",
            file=address,
        ) from error
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path | None, error: OSError) -> InputError:
    """The error for a disk that is full, read-only or gone."""
    return InputError(
        f"it cannot be written: {error.strerror}; free some space or choose another data "
        "directory.",
        file=str(path),
    )


def _silent(address: str, host: str) -> InputError:
    return InputError(
        f"{host} has sent nothing for {TIMEOUT:g} seconds; try again, and it resumes from there if "
        "the server allows it.",
        file=address,
    )
