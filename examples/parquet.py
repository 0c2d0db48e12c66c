"""Count a folder of Parquet files, one folder a night, in memory that does not grow with it."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset

from poscount import PAT, InputError
from poscount.engines import count
from poscount.example import load_example


def main() -> None:
    positives, trap, _ = load_example("pyarrow")
    model = PAT(random_state=0).fit(positives)
    with tempfile.TemporaryDirectory() as folder:
        # Your files are there already; these are written as Spark and Hive would.
        nights = pa.dataset.partitioning(pa.schema([("night", pa.string())]), flavor="hive")
        pa.dataset.write_dataset(trap, folder, format="parquet", partitioning=nights)

        everything = count(model, folder)
        print(f"all nights: {model.estimate(everything)!r}")
        by_night = count(model, folder, by="night")
        for (night,), p in zip(by_night.keys, model.estimate_by(by_night), strict=True):
            print(f"{night}: {p:.3f} [{p.interval.low:.3f}, {p.interval.high:.3f}]")

        # A file that cannot be used stops the count, and is named.
        Path(folder, "night=x").mkdir()
        Path(folder, "night=x", "broken.parquet").write_bytes(b"PAR1")
        try:
            count(model, folder)
        except InputError as error:
            print(error)


if __name__ == "__main__":
    main()
