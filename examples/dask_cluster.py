"""Count a Dask dataframe on a cluster of two worker processes."""

import dask.dataframe as dd
from distributed import Client, LocalCluster

from poscount import PAT
from poscount.engines import count
from poscount.example import load_example


def main() -> None:
    positives, trap, _ = load_example("pandas")
    model = PAT(random_state=0).fit(positives)
    rows = dd.from_pandas(trap, npartitions=8)
    # With a cluster of yours: Client("tcp://scheduler:8786").
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster),
    ):
        counts = count(model, rows)
        by_night = count(model, rows, by="night")
    print(model.estimate(counts))
    assert counts == model.count(trap)
    for (night,), p in zip(by_night.keys, model.estimate_by(by_night), strict=True):
        print(f"{night}: {p:.3f}")


# Worker processes import this file, and must not start clusters of their own.
if __name__ == "__main__":
    main()
