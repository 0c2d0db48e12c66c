"""Fuzzing guided by coverage: model files, counts and CSV files that reach new branches are kept.

    pip install atheris
    python -m benchmarks.robustness.coverage_fuzz model 300      # or counts, csv; seconds

It starts from files that poscount has written, and from what earlier runs have found
(``--corpus DIR``, which keeps it). Of an archive one member is changed at a time, and it is
packed again with correct checksums: otherwise nothing behind them would ever be reached. An error
that is not poscount's own ends the run, with the file that caused it; so do 5 seconds or 2 GB for
one file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["poscount"], enable_loader_override=False):
    from benchmarks.robustness import hostile
    from benchmarks.robustness.hostile_files import zipped
    from poscount.errors import InputError

TARGETS = {"model": "PAT, table", "counts": "PAT, table: counts", "csv": "table"}


def change_a_member(data: bytes, max_size: int, seed: int) -> bytes:
    """Let libFuzzer change one member of an archive, and pack it again."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return atheris.Mutate(data, max_size)
    if not members:
        return atheris.Mutate(data, max_size)
    i = seed % len(members)
    name, content = members[i]
    members[i] = name, atheris.Mutate(content, max(1, max_size - len(data) + len(content)))
    try:
        return zipped(members)[:max_size]
    except (ValueError, UnicodeError):  # a name that no archive can hold
        return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=TARGETS)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="coverage-fuzz-") as temporary:
        folder = Path(temporary)
        path, corpus = folder / "tried", arguments.corpus or folder / "corpus"
        target = hostile.make_targets(folder, ("PAT, table",))[TARGETS[arguments.kind]]
        corpus.mkdir(parents=True, exist_ok=True)
        (corpus / "written-by-poscount").write_bytes(target.content)

        def use(data: bytes) -> None:
            path.write_bytes(data)
            with contextlib.suppress(InputError, OSError):
                hostile.summary(target.use(path))

        options = [f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}", "-timeout=5"]
        options += ["-rss_limit_mb=2048", f"-max_len={2 * len(target.content)}", "-verbosity=0"]
        options += ["-print_final_stats=1"]
        mutator = {} if arguments.kind == "csv" else {"custom_mutator": change_a_member}
        atheris.Setup([sys.argv[0], *options, str(corpus)], use, **mutator)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
