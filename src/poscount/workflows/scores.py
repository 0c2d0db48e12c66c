"""The scores behind one answer, as numbers that a front end can draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from poscount.base import Quantifier
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.reading import expand
from poscount.files.sampling import sample_rows_from_files
from poscount.plotting.score_histogram import has_scores, scores_of


class ScorePicture(NamedTuple):
    """A histogram of a sample's scores, and where its positives should be in it.

    Attributes
    ----------
    edges : list of float
        Edges of the bins; a higher score is more like a positive.
    sample, positives : list of float
        Rows of the sample in each bin, and how many of them should be positive.
    left : int
        Rows of the sample that are further to the left than the first bin.
    rows : int
        Rows that were looked at: all of the sample, or some drawn at random.
    """

    edges: list[float]
    sample: list[float]
    positives: list[float]
    left: int
    rows: int


def score_picture(
    model: Quantifier,
    prevalence: float,
    positives: str,
    paths: Sequence[str],
    *,
    most_rows: int,
    csv_format: CsvFormat = DEFAULT_CSV,
    positives_format: CsvFormat | None = None,
) -> ScorePicture | None:
    """Score the rows of files; None if the model has no score, or too many positives to reread.

    Parameters
    ----------
    model : Quantifier
    prevalence : float
        What the model says about the files.
    positives : str
        The file that it was fitted on.
    paths : sequence of str
        Files of unlabeled rows.
    most_rows : int
        Look at no more rows than these, drawn at random by the seed of the model.
    csv_format, positives_format : CsvFormat
        How the files are written, and how that of the positives is, if it differs.
    """
    if not has_scores(model):
        return None

    def rows(paths: Sequence[str], written: CsvFormat) -> Any:
        return sample_rows_from_files(
            model, expand(paths), most_rows, seed=model.seed_, csv_format=written
        )

    learned = rows([positives], positives_format or csv_format)
    if not learned.complete:
        return None
    sample = rows(paths, csv_format)
    scores = scores_of(model, learned.table, sample.table)
    edges = scores.edges
    of_positives, of_sample = scores.shares(edges)
    n = sample.table.num_rows
    return ScorePicture(
        edges.tolist(),
        (n * of_sample).round().tolist(),
        (prevalence * n * of_positives).tolist(),
        int((scores.sample < edges[0]).sum()),
        n,
    )
