"""Texts as sparse words, with and without unlabeled texts to learn from.

    python -m benchmarks.accuracy.text

Short messages, of which the positives are spam (`data/bank/sms_spam`), and the docstrings of three
packages among those of five, which are on every data scientist's disk. At most 300 labelled texts,
samples of 600 or fewer, a reference of at most 2,000 other texts, a tenth of them positive. The
pipeline is TF-IDF and 50 singular vectors, fitted on the labelled texts and the reference. Errors
in points, as means over shares of 1 to 90 %.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import sklearn
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from benchmarks.printing import print_rows
from poscount import DEDPUL, RCQ
from research.datasets import data_directory

SHARES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9)
PACKAGES = ("sklearn", "pandas", "matplotlib", "scipy", "numpy")
N_LABELED, N_ROWS, N_REFERENCE = 300, 600, 2_000
WAYS = (
    "words, positives alone",
    "words, other texts",
    "words, the sample itself",
    "pipeline, other texts",
    "DEDPUL on the pipeline",
)


class Texts(NamedTuple):
    """Texts to label, to count and to learn from."""

    labeled: np.ndarray
    sample: np.ndarray
    reference: np.ndarray


def docstrings(package: str) -> list[str]:
    """Docstrings of a package that are long enough to be prose."""
    found = {}
    for file in sorted((Path(sklearn.__file__).parents[1] / package).rglob("*.py")):
        if "test" in str(file.relative_to(file.parents[1])):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = ast.get_docstring(node)
                if text and len(text) >= 200:
                    found[text] = None
    return list(found)


def collections() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, positives and other texts."""
    messages = pd.read_csv(data_directory() / "bank" / "sms_spam.csv.gz").drop_duplicates()
    spam = (messages["class"] == messages["class"].value_counts().index[-1]).to_numpy()
    texts = messages.iloc[:, 0].astype(str).to_numpy(object)
    yield "sms_spam", texts[spam], texts[~spam]
    by_package = {package: docstrings(package) for package in PACKAGES}
    for package in PACKAGES[:3]:
        others = [text for name in PACKAGES if name != package for text in by_package[name]]
        yield package, np.array(by_package[package], object), np.array(others, object)


def draw(positives: np.ndarray, others: np.ndarray, share: float, seed: int) -> tuple[Texts, float]:
    """Texts of which none is drawn twice, and the share of positives in the sample."""
    rng = np.random.default_rng(seed)
    ours, theirs = rng.permutation(positives), rng.permutation(others)
    n_labeled = min(N_LABELED, len(ours) // 3)
    labeled, ours = np.split(ours, [n_labeled])
    sampled, spare = np.array_split(ours, 2)
    of_sample, of_reference = np.array_split(theirs, 2)
    n = int(min(N_ROWS, len(sampled) / share, len(of_sample) / (1 - share)))
    n_positive = round(share * n)
    m = int(min(N_REFERENCE, len(spare) / 0.1, len(of_reference) / 0.9))
    sample = [sampled[:n_positive], of_sample[: n - n_positive]]
    reference = [spare[: m // 10], of_reference[: m - m // 10]]
    return Texts(labeled, np.concatenate(sample), np.concatenate(reference)), n_positive / n


def answers(texts: Texts) -> list[tuple[float, float, float]]:
    """Value and ends of each way."""
    words = TfidfVectorizer().fit(np.concatenate([texts.labeled, texts.reference]))
    labeled, sample, reference = (words.transform(part) for part in texts)
    pipeline = make_pipeline(TfidfVectorizer(), TruncatedSVD(50, random_state=0))
    pipeline.fit(np.concatenate([texts.labeled, texts.reference]))
    dense = Texts(*(pipeline.transform(part) for part in texts))
    found = [
        RCQ(random_state=0).fit(labeled).quantify(sample),
        RCQ(random_state=0).fit(labeled, unlabeled=reference).quantify(sample),
        RCQ(random_state=0).fit(labeled, unlabeled=sample).quantify(sample),
        RCQ(random_state=0).fit(dense.labeled, unlabeled=dense.reference).quantify(dense.sample),
    ]
    rival = DEDPUL(random_state=0).fit(dense.labeled).quantify(dense.sample)
    return [*((float(p), *p.interval) for p in found), (float(rival), np.nan, np.nan)]


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    rows, errors = [], []
    for name, positives, others in collections():
        drawn = [draw(positives, others, share, seed) for seed, share in enumerate(SHARES)]
        found = np.array([answers(texts) for texts, _ in drawn])
        truth = np.array([p for _, p in drawn])
        errors.append(np.abs(found[:, :, 0] - truth[:, np.newaxis]).mean(axis=0))
        for way, (value, low, high) in zip(WAYS, found.transpose(1, 2, 0), strict=True):
            held = ((low <= truth) & (truth <= high)).mean()
            cells = [f"{100 * np.abs(value - truth).mean():.1f}"]
            cells.append(f"{100 * (value - truth).mean():+.1f}")
            known = np.isfinite(low).all()
            cells += [f"{held:.2f}", f"{100 * (high - low).mean():.0f}"] if known else ["", ""]
            rows.append([name, way, *cells])
    for way, mean in zip(WAYS, np.mean(errors, axis=0), strict=True):
        rows.append(["mean of the four", way, f"{100 * mean:.1f}", "", "", ""])
    print_rows(rows, ["texts", "way", "MAE", "bias", "95 % held", "width"])


if __name__ == "__main__":
    main()
