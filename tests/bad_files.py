"""Files that the page must refuse, each with words of the sentence that it gets."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from poscount.example import example_path
from workbooks import xlsx

POSITIVES = example_path("positives.csv").read_bytes()
NOISE = np.random.default_rng(0).bytes(200_000)


def parquet(table, **options):
    buffer = io.BytesIO()
    pa.parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


def varint(n):
    """A number as the footer of a Parquet file writes it."""
    n, out = 2 * n, b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def claims_a_billion_rows():
    real = 77_777
    content = parquet(pa.table({"a": pa.nulls(real, pa.float64())}))
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = content[-8 - length : -8]
    assert varint(real) in footer
    footer = footer.replace(varint(real), varint(10**9))
    return content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


WIDE = {f"c{i}": [1.0, 2.0] for i in range(10_000)}
WIDE_CSV = (",".join(WIDE) + "\n" + ",".join(["1"] * len(WIDE)) + "\n").encode()

BAD_FILES = {
    "noise.csv": (NOISE, "UTF-8|not CSV"),
    "noise.csv.gz": (NOISE, "UTF-8"),
    "noise.parquet": (NOISE, "not Parquet"),
    "broken.csv.gz": (gzip.compress(POSITIVES)[:-2000], "damaged or incomplete"),
    "broken.parquet": (parquet(pa.table({"a": [1.0]}))[:-20], "not Parquet"),
    "billion.parquet": (claims_a_billion_rows(), "more than 5,000,000 rows.*command line"),
    "wide.csv": (WIDE_CSV, "more than 1,000 columns.*command line"),
    "wide.parquet": (parquet(pa.table(WIDE)), "more than 1,000 columns"),
    "empty.csv": (b"", "empty"),
    "header.csv": (b"a,b\n", "no rows"),
    "ragged.csv": (b"a,b\n1,2\n1\n" + b"3,4\n" * 9, "line 3 has 1 cell"),
    "quote.csv": (b'a,b\n1,"2\n', "never closed"),
    "twice.csv": (b"a,a\n1,2\n", "2 columns of this name"),
    "numbers.csv": (b"1,2\n3,4\n", "the setting First line"),
    "noise.xlsx": (NOISE, "not a workbook"),
    "noise.zip": (NOISE, "damaged or incomplete"),
    "pair.csv.zip": (zipped(a=b"x\n1\n", b=b"x\n1\n"), "2 files: a, b"),
    "table.zip": (zipped(**{"a.pdf": b"x"}), "extension of 'a.pdf'"),
    "list.jsonl": (b"[1, 2]\n", "line 1 is not a JSON object"),
    "nested.jsonl": (b'{"a": {"b": 1}}\n', "nested object"),
    "wide.xlsx": (xlsx({"s": [list(WIDE), [1] * len(WIDE)]}), "more than 1,000 columns"),
    "model.pkl": (b"\x80\x04.", "extension"),
    "no-extension": (POSITIVES, "extension"),
}
