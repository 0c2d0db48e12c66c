"""Count a DuckDB table, and the rows of a query."""

import duckdb

from poscount import PAT
from poscount.engines import count
from poscount.example import load_example


def main() -> None:
    positives, trap, _ = load_example("pyarrow")
    model = PAT(random_state=0).fit(positives)
    with duckdb.connect() as connection:
        connection.register("arrow_trap", trap)
        connection.sql("CREATE TABLE trap AS SELECT * FROM arrow_trap")

        counts = count(model, connection.table("trap"))
        print(model.estimate(counts))
        assert counts == model.count(trap)

        some = (connection, "SELECT * FROM trap WHERE night <> '2026-06-01'")
        by_night = count(model, some, by="night")
        for (night,), p in zip(by_night.keys, model.estimate_by(by_night), strict=True):
            print(f"{night}: {p:.3f}")


if __name__ == "__main__":
    main()
