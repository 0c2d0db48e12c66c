"""What `fetch` notes beside a file, so that a later change on either side is seen."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from poscount.container import write_whole
from poscount.errors import InputError


@dataclass(frozen=True)
class Receipt:
    """Where a file came from.

    Attributes
    ----------
    address : str
        What was downloaded.
    source_sha256 : str
        Checksum of the downloaded bytes.
    sha256 : str
        Checksum of the values in the stored file.
    verified : bool
        Whether `sha256` was known beforehand. If not, it is trusted because it was the first.
    """

    address: str
    source_sha256: str
    sha256: str
    verified: bool


def read_receipt(path: Path) -> Receipt | None:
    """Give the receipt of a stored file, if it was fetched."""
    place = receipt_path(path)
    if not place.exists():
        return None
    try:
        return Receipt(**json.loads(place.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise InputError(
            "this note about a download is damaged; remove it and fetch the data set again.",
            file=str(place),
        ) from error


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write the receipt of a stored file."""
    write_whole(receipt_path(path), f"{json.dumps(asdict(receipt), indent=1)}\n".encode())


def receipt_path(path: Path) -> Path:
    """Where the receipt of a stored file lies."""
    return path.with_name(f"{path.name}.json")
