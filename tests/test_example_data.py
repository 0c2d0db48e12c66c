import gzip
import subprocess
import sys
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from poscount import example
from poscount.example import Example, example_path, load_example, simulate

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
NAMES = ("positives.csv", "trap.csv.gz", "truth.csv")


@pytest.fixture(scope="module")
def data() -> Example:
    return load_example("pandas")


def content(path: Path) -> bytes:
    # Different builds of zlib compress the same content to different bytes.
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_holds_the_same(kind, data):
    for got, expected in zip(load_example(kind), data, strict=True):
        assert isinstance(got, KINDS[kind])
        frame = nw.from_native(got, eager_only=True)
        assert frame.columns == list(expected.columns)
        for name in frame.columns:
            assert frame[name].to_list() == expected[name].to_list()


def test_default_frame_is_the_first_installed(monkeypatch):
    assert isinstance(load_example().trap, pd.DataFrame)
    monkeypatch.setattr(example, "find_spec", lambda name: None if name == "pandas" else name)
    assert isinstance(load_example().trap, pl.DataFrame)


def test_no_frame_library_names_the_extra(monkeypatch):
    monkeypatch.setattr(example, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "poscount\[cli\]"'):
        load_example()


def test_unknown_frame_and_file():
    with pytest.raises(ValueError, match="frame must be one of pandas, polars, pyarrow, not 'r'"):
        load_example("r")
    with pytest.raises(ValueError, match=r"no file 'trap.csv', only positives.csv, trap.csv.gz"):
        example_path("trap.csv")


def test_shape_of_the_data(data):
    assert list(data.positives.columns) == list(simulate.FEATURES)
    assert list(data.trap.columns) == ["night", *data.positives.columns]
    assert len(data.positives) == 400
    assert data.trap.groupby("night").size().to_list() == data.truth["rows"].to_list()
    assert data.trap["night"].unique().tolist() == data.truth["night"].to_list()
    for frame in (data.positives, data.trap.drop(columns="night")):
        assert np.isfinite(frame.to_numpy()).all()


def test_prevalences_go_from_none_to_most(data):
    shares = data.truth["positives"] / data.truth["rows"]
    assert shares.min() == 0
    assert 0.6 < shares.max() < 0.8
    assert len(shares) == 9


def test_target_is_correlated_mildly_skewed_and_overlapped(data):
    correlations = np.abs(np.corrcoef(data.positives.to_numpy().T) - np.eye(8))
    assert 0.3 < correlations.max() < 0.8
    assert 0.5 < data.positives.skew().abs().max() < 2.5
    # Frequency alone does not tell the target from its neighbours.
    low, high = np.quantile(data.positives["wingbeat_hz"], [0.05, 0.95])
    before_the_season = data.trap[data.trap["night"] == "2026-01-12"]
    assert before_the_season["wingbeat_hz"].between(low, high).mean() > 0.02


def test_positives_in_the_trap_are_like_the_labelled_ones():
    rng = np.random.RandomState(0)
    nothing_else = simulate.catch(20_000, 1.0, rng)[0]
    labelled = simulate.record(simulate.TARGET, 20_000, rng)
    np.testing.assert_allclose(np.mean(nothing_else, 0), np.mean(labelled, 0), rtol=0.02)
    np.testing.assert_allclose(np.std(nothing_else, 0), np.std(labelled, 0), rtol=0.05)


def test_generator_reproduces_the_committed_files(tmp_path):
    subprocess.run([sys.executable, "-m", "poscount.example.simulate", str(tmp_path)], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == list(NAMES)
    for name in NAMES:
        assert content(tmp_path / name) == content(example_path(name))


def test_generator_gives_equal_bytes_each_time(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
        simulate.write(directory)
    for name in NAMES:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    # Bytes 4 to 8 of a gzip header are the time of writing.
    assert (first / "trap.csv.gz").read_bytes()[4:8] == bytes(4)


def test_embedded_files_are_small():
    assert sum(example_path(name).stat().st_size for name in NAMES) < 600_000
