"""From files of unlabeled rows to prevalences, and the scores behind one of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from poscount.app.data_files import DataFiles, add_counts
from poscount.app.fitting import learned_score
from poscount.app.results import RESERVED, TARGET, Result, limit_column
from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.counts.clusters import with_cluster
from poscount.counts.counts import Counts
from poscount.data.rows_seen import RowsSeen
from poscount.errors import InputError
from poscount.files.features import model_columns
from poscount.methods.regions.multi_rcq import MultiRCQ
from poscount.plotting.scores import has_scores, scores_of
from poscount.results.groups import ALL_ROWS
from poscount.results.prevalence import Prevalence
from poscount.results.target_shares import TargetShares


def quantify(
    model: Quantifier,
    data: DataFiles,
    *,
    by: Sequence[str] = (),
    by_file: bool = False,
    limits: Sequence[float] = (),
    drop_positives: bool = False,
    cluster: str | None = None,
) -> list[Result]:
    """Estimate prevalences: of everything together, of each file, of each group.

    Where there are groups or files, the first result is that of all rows together. With several
    targets (`MultiRCQ`) there is a result for each of them, and for "other", whose group says which
    one it is under "target", and whose `target` does.

    Parameters
    ----------
    model : Quantifier
    data : DataFiles
    by : sequence of str
        Columns whose values make the groups.
    by_file : bool
        Whether each file is a sample of its own.
    limits : sequence of float
        Shares of which the results will be asked whether they are exceeded; refused here if the
        model cannot tell, before anything is counted.
    drop_positives : bool
        Whether to leave labelled positives out that are in the sample, too. If not, the first
        result says how many there are.
    cluster : str, optional
        The column of the rows' clusters; the intervals are for the population behind these.
    """
    if cluster is not None and (
        isinstance(model, MultiRCQ) or not isinstance(model, CountingQuantifier)
    ):
        raise InputError(
            f"{type(model).__name__} cannot allow for clusters: a reusable method for positives of "
            "one kind can, such as RCQ.",
            option="cluster",
            leave_out=True,
        )
    if limits and not model.gives_interval:
        raise InputError(
            f"{type(model).__name__} gives no interval, so it cannot say how likely a share is "
            "above a limit; it can if its estimates are resampled (bootstrap).",
            option="limit",
            leave_out=True,
        )
    reserved = {*RESERVED, *map(limit_column, limits)}
    if by_file:
        reserved.add("file")
    if isinstance(model, MultiRCQ):
        reserved.add(TARGET)
    for name in by:
        if name in reserved:
            raise InputError(
                "the result has a column of this name: rename yours, or group by another.",
                column=name,
                option="by",
            )
    names = ["file", *by] if by_file else list(by)
    seen = _rows_seen(model, data, drop_positives)
    samples = [((each.files[0],), each) for each in data.single()] if by_file else [((), data)]
    answers, counts = [], []
    for file, sample in samples:
        of_sample, counted = _answers(model, sample, by, seen, drop_positives, cluster)
        answers += [((*file, *key), answer) for key, answer in of_sample]
        counts.append(counted)
    results = []
    if names:
        total = (
            _estimate(model, functools.reduce(operator.add, counts), data, cluster)
            if None not in counts
            else _whole(model, data, drop_positives)
        )
        everything = dict.fromkeys(names, "") | {names[0]: ALL_ROWS}
        results = [each._replace(is_total=True) for each in _results(everything, total, model)]
    for key, answer in answers:
        results += _results(dict(zip(names, key, strict=True)), answer, model)
    if seen is not None:
        results[0] = results[0]._replace(prevalence=model._told_of(seen, results[0].prevalence))
    return results


def _rows_seen(model: Quantifier, data: DataFiles, drop: bool) -> RowsSeen | None:
    """What looks at rows that are counted in this process."""
    seen = model._rows_seen()
    if data.engine == "auto" and not data.counts_files:
        if drop and (seen is None or seen.known is None):
            raise InputError(
                "The values are so coarse that rows are equal by chance, so labelled positives "
                "cannot be told from others.",
                option="drop_positives",
                leave_out=True,
            )
        if seen is not None:
            seen.drop_known = drop
        return seen if isinstance(model, CountingQuantifier) else None
    if drop:
        raise InputError(
            "Labelled positives can only be found in rows that this process reads: not in counts "
            "files, and not on a cluster.",
            option="drop_positives",
            leave_out=True,
        )
    return None


def _results(
    group: dict[str, Any], answer: Prevalence | TargetShares, model: Quantifier
) -> list[Result]:
    """The result for a group; one for each target if there are several."""
    if isinstance(answer, TargetShares):
        return [Result({**group, TARGET: name}, share) for name, share in answer.items()]
    score = learned_score(model)
    return [Result(group, answer, score.n_reference_ if score else 0)]


def _answers(
    model: Quantifier,
    data: DataFiles,
    by: Sequence[str],
    seen: RowsSeen | None,
    drop: bool,
    cluster: str | None,
) -> tuple[list[tuple[tuple, Prevalence | TargetShares]], Any]:
    """Values of the grouping columns, and the answer, of every group; and the counts of all."""
    if cluster is not None:
        counts = data.count(model, with_cluster(by, cluster), seen)
        if by:
            answers = model.estimate_by(counts, cluster=cluster)
            return list(zip(counts.lines_by(by), answers, strict=True)), counts
        return [((), _estimate(model, counts, data, cluster))], counts
    if isinstance(model, CountingQuantifier):
        counts = data.count(model, by, seen)
        if by:
            return list(zip(counts.keys, model.estimate_by(counts), strict=True)), counts.together
        return [((), _estimate(model, counts, data))], counts
    if data.engine != "auto":
        raise InputError(
            f"{type(model).__name__} needs all rows in memory at once; a reusable method such as "
            "PAT does not.",
            option="engine",
            leave_out=True,
        )
    if not by:
        return [((), _whole(model, data, drop))], None
    table = data.read(model, by).table
    table = model.without_positives(table) if drop else table
    return list(model.quantify_groups(table, by, weights=data.weights).items()), None


def _whole(model: Quantifier, data: DataFiles, drop: bool) -> Prevalence | TargetShares:
    """The answer for all rows, which are in memory at once."""
    rows = data.read(model)
    try:
        table = model.without_positives(rows.table) if drop else rows.table
        return model.quantify(table, weights=data.weights)
    except InputError as error:
        raise rows.located(error) from error


def _estimate(model: Any, counts: Any, data: DataFiles, cluster: str | None = None) -> Prevalence:
    try:
        return (
            model.estimate(counts) if cluster is None else model.estimate(counts, cluster=cluster)
        )
    except InputError as error:
        raise error.at(file=data.files[0] if len(data.files) == 1 else None) from error


def merge(paths: Sequence[str]) -> Counts:
    """Add the counts of counts files."""
    return add_counts([(path, Counts.load(path)) for path in paths])


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


def scores_behind(
    model: Quantifier, positives: Any, data: DataFiles, *, most_rows: int
) -> ScorePicture | None:
    """Score the rows of files, and say where their positives should be.

    There is no picture if the model has no score, or too many positives to score them again.

    Parameters
    ----------
    model : Quantifier
    positives : pyarrow.Table
        The rows that it was fitted on.
    data : DataFiles
    most_rows : int
        Score no more rows than these, drawn at random by the seed of the model.

    Examples
    --------
    >>> from poscount import RCQ
    >>> from poscount.example import example_path, load_example
    >>> positives = load_example("pyarrow").positives
    >>> model = RCQ(random_state=0).fit(positives)
    >>> trap = DataFiles([str(example_path("trap.csv.gz"))])
    >>> scores_behind(model, positives, trap, most_rows=10_000).rows
    8070
    """
    if not has_scores(model) or positives.num_rows > most_rows:
        return None
    prevalence = quantify(model, data)[0].prevalence
    numeric = model.numeric_features_
    table = data.sample(model_columns(model), numeric, most_rows, seed=model.seed_).table
    scores, n = scores_of(model, positives, table), table.num_rows
    edges = scores.edges
    of_positives, of_sample = scores.shares(edges)
    return ScorePicture(
        edges.tolist(),
        (n * of_sample).round().tolist(),
        (prevalence * n * of_positives).tolist(),
        int((scores.sample < edges[0]).sum()),
        n,
    )
