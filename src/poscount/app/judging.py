"""From columns of scores in files to an evaluation of the classifier that gave them."""

from __future__ import annotations

import numpy as np

from poscount.app.data_files import DataFiles
from poscount.auditing.review import Review
from poscount.auditing.settlement import Settlement
from poscount.base.quantifier import Quantifier
from poscount.errors import InputError
from poscount.files.reading import read_files
from poscount.judging.evaluation import Evaluation, evaluate
from poscount.results.prevalence import Prevalence


def evaluate_files(
    positives: DataFiles,
    sample: DataFiles,
    score: str,
    prevalence: float | Quantifier,
    *,
    random_state: int,
) -> Evaluation:
    """Judge a classifier by its scores in files of held-out positives and of the sample.

    Parameters
    ----------
    positives, sample : DataFiles
    score : str
        The column of the scores in both.
    prevalence : float or Quantifier
        A share that is known, or a fitted model that estimates it from the sample.
    random_state : int
    """
    share: Prevalence | float
    if isinstance(prevalence, Quantifier):
        if score in prevalence.feature_names:
            raise InputError(
                "the scores are a feature of the model, so they would be judged by themselves: fit "
                "it without them.",
                column=score,
            )
        why_not = sample.why_not_again
        if why_not is not None:
            raise InputError(
                f"the model reads the rows once and the scores are read again, but {why_not}: give "
                "the data as a file, or the share itself.",
                option="prevalence",
            )
        share = prevalence.quantify(sample.read(prevalence).table)
    else:
        share = prevalence
    ours, theirs = (scores_of(files, score) for files in (positives, sample))
    return evaluate(ours, theirs, share, random_state=random_state)


def review_of(settled: Settlement, data: DataFiles, score: str, threshold: float) -> Review:
    """Judge a review that kept the rows with at least this score, by settled labels of an audit."""
    return settled.review(scores_of(data, score) >= threshold)


def scores_of(files: DataFiles, score: str) -> np.ndarray:
    """The column of scores, which has no gaps."""
    for file in files.counts_files:
        raise InputError("a counts file has no scores; give the rows instead.", file=file)
    rows = read_files(
        files.files, columns=[score], numeric=[score], read_options=files.read_options
    )
    scores = np.asarray(rows.table[score].to_numpy(), np.float64)
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        error = InputError("the score is missing.", column=score, row=int(missing[0]))
        raise rows.located(error)
    return scores
