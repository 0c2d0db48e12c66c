"""The scores behind one answer, as numbers that a front end can draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.engines.count_files import count_files
from poscount.errors import InputError
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.reading import expand
from poscount.files.sampling import RowSample
from poscount.plotting.scores import has_scores, scores_of
from poscount.workflows.estimates import Watch, quantify, unwatched
from poscount.workflows.results import Result


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


class _KeepingCounter(BatchCounter):
    """Counts batches, and keeps some of their rows."""

    def __init__(self, model: CountingQuantifier, sample: RowSample) -> None:
        super().__init__(model)
        self.sample = sample

    def count(self, batch: Any) -> Any:
        """Count the rows of a batch after looking at them."""
        counts = super().count(batch)
        self.sample.add(batch)
        return counts


def quantify_with_scores(
    model: Quantifier,
    positives: Any,
    paths: Sequence[str],
    *,
    most_rows: int,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> tuple[Result, ScorePicture | None]:
    """Estimate the prevalence of all files together and score their rows, in one pass over them.

    There is no picture if the model has no score, or too many positives to score them again.

    Parameters
    ----------
    model : Quantifier
    positives : pyarrow.Table
        The rows that it was fitted on.
    paths : sequence of str
        Files of unlabeled rows.
    most_rows : int
        Score no more rows than these, drawn at random by the seed of the model.
    csv_format, watch
        As in `poscount.workflows.quantify`.

    Examples
    --------
    >>> from poscount import RCQ
    >>> from poscount.example import example_path, load_example
    >>> positives = load_example("pyarrow").positives
    >>> model = RCQ(random_state=0).fit(positives)
    >>> trap = [str(example_path("trap.csv.gz"))]
    >>> result, picture = quantify_with_scores(model, positives, trap, most_rows=10_000)
    >>> result.prevalence.n_unlabeled, picture.rows
    (8070, 8070)
    """
    if not has_scores(model) or positives.num_rows > most_rows:
        (result,) = quantify(model, paths, n_jobs=1, csv_format=csv_format, watch=watch)
        return result, None
    files = expand(paths)
    sample = RowSample(most_rows, seed=model.seed_)
    with watch(files[0]) as progress:
        counts = count_files(
            _KeepingCounter(model, sample),
            files,
            progress=progress,
            # The order of the batches decides which rows are drawn.
            n_jobs=1,
            csv_format=csv_format,
        )
    try:
        prevalence = model.estimate(counts)
    except InputError as error:
        raise error.at(file=files[0] if len(files) == 1 else None) from error
    return Result({}, prevalence), _picture(model, prevalence, positives, sample.rows().table)


def _picture(model: Any, prevalence: float, positives: Any, table: Any) -> ScorePicture:
    scores = scores_of(model, positives, table)
    edges = scores.edges
    of_positives, of_sample = scores.shares(edges)
    n = table.num_rows
    return ScorePicture(
        edges.tolist(),
        (n * of_sample).round().tolist(),
        (prevalence * n * of_positives).tolist(),
        int((scores.sample < edges[0]).sum()),
        n,
    )
