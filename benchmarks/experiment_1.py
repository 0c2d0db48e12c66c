"""Any method on the paper's Experiment #1: error, interval coverage, time, the published numbers.

python benchmarks/experiment_1.py                                    # PAT and ODIn, six sets
python benchmarks/experiment_1.py --methods pat bbe --datasets W --repetitions 1
python benchmarks/experiment_1.py --methods EN_auto en:gamma=0.1,held_out=False
python benchmarks/experiment_1.py --methods odin penl1 --bias        # by true prevalence

A method is a name of the registry, also with parameters after a colon, or a column of the paper's
table, which is run in its published form.
"""

from __future__ import annotations

import argparse
import ast
import time
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import paper_data
from poscount import registry

PUBLISHED = {
    "EN_auto": "en:gamma=auto,held_out=False",
    "EN_scale": "en:gamma=std,held_out=False",
    "PE": "pe:published=True",
    "KM1": "km1:lam_max=8.0",
    "KM2": "km2:lam_max=8.0",
    "TIcE": "tice",
    "ExTIcE": "extice",
    "PAT_M": "pat",
    "ODIn_M": "odin",
    "min(ExTIcE,PAT_M)": "minimum",
}


def make(method: str, seed: int) -> Any:
    name, _, options = PUBLISHED.get(method, method).partition(":")
    parameters = dict(option.split("=", 1) for option in options.split(",") if option)
    return registry.method(name)(
        **{key: _value(text) for key, text in parameters.items()}, random_state=seed
    )


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def evaluate(method: str, letter: str, repetition: int) -> list[tuple[float, ...]]:
    """Truth, estimate, lower and upper end (NaN without), CPU seconds of quantifying, per task."""
    rows = []
    fold = None
    for task in paper_data.experiment_1(letter, repetition):
        if task.fold != fold:
            model = make(method, repetition).fit(task.positives)
            fold = task.fold
        start = time.process_time()
        p = model.quantify(task.sample)
        seconds = time.process_time() - start
        low, high = (p.interval.low, p.interval.high) if p.interval else (np.nan, np.nan)
        rows.append((task.truth, float(p), low, high, seconds))
    return rows


def line(method: str, letter: str, results: np.ndarray, known: float) -> str:
    truth, p, low, high, seconds = results.T
    errors = 100 * np.abs(truth - p)
    cells = [method, letter, f"{errors.mean():.2f}", f"{errors.std():.2f}"]
    cells += [f"{known:.2f}", f"{errors.mean() - known:+.2f}"] if np.isfinite(known) else ["", ""]
    if np.isfinite(low).all():
        inside = (low <= truth) & (truth <= high)
        cells += [f"{inside.mean():.3f}", f"{100 * (high - low).mean():.1f}"]
    else:
        cells += ["", ""]
    return f"| {' | '.join(cells)} | {seconds.mean():.4f} |"


def bias(results: np.ndarray) -> str:
    """Mean of estimate minus truth in points, by true prevalence."""
    errors = 100 * (results[:, 1] - results[:, 0]).reshape(-1, 11).mean(axis=0)
    return " ".join(f"{error:+.1f}" for error in errors)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["pat", "odin"])
    parser.add_argument("--datasets", nargs="+", default=list(paper_data.PAPER_SETS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--n-jobs", type=int, default=1, help="repetitions side by side")
    parser.add_argument("--bias", action="store_true", help="bias at p = 0, .1, ..., 1 below a row")
    arguments = parser.parse_args()
    print("| method | set | MAE | sd | published | difference | coverage | width | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for method in arguments.methods:
        columns = [key for key, value in PUBLISHED.items() if method in (key, value)]
        reference = paper_data.published(columns[0]) if columns else {}
        everything = []
        for letter in arguments.datasets:
            parts = Parallel(n_jobs=arguments.n_jobs)(
                delayed(evaluate)(method, letter, i) for i in range(arguments.repetitions)
            )
            everything.append(np.concatenate(parts))
            known = reference.get(letter, np.nan)
            print(line(method, letter, everything[-1], known), flush=True)
            if arguments.bias:
                print(f"bias: {bias(everything[-1])}", flush=True)
        known = float(np.mean([reference.get(letter, np.nan) for letter in arguments.datasets]))
        print(line(method, "all", np.concatenate(everything), known), flush=True)


if __name__ == "__main__":
    main()
