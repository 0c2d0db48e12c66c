"""``poscount evaluate``: columns of scores in files, and what the library says of them."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from poscount import RCQ, evaluate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)

    def rows(n, centre):
        x = rng.normal(centre, 1, size=(n, 3))
        return pd.DataFrame(x, columns=list("abc")).assign(score=x.sum(axis=1).round(6))

    rows(300, 2).to_csv(folder / "held_out.csv", index=False)
    sample = pd.concat([rows(300, 2), rows(700, 0)])
    sample.to_csv(folder / "sample.csv", index=False)
    RCQ(random_state=0).fit(rows(300, 2)[list("abc")]).save(folder / "model.poscount")
    RCQ(random_state=0).fit(rows(300, 2)).save(folder / "with_scores.poscount")
    return folder


def scores(folder):
    return (pd.read_csv(folder / f"{name}.csv")["score"] for name in ("held_out", "sample"))


def test_it_says_what_the_library_says(poscount_, folder):
    files = folder / "held_out.csv", folder / "sample.csv"
    asked = ("evaluate", *files, "--score", "score", "--prevalence", 0.3)
    told = poscount_(*asked, "--format", "json")
    expected = evaluate(*scores(folder), 0.3, random_state=0)
    assert told.results() == json.loads(json.dumps(expected.to_dict()))
    text = poscount_(*asked, "--recall", 0.9, "--threshold", 3).out
    for rates in (expected.at(3.0), expected.threshold_for(recall=0.9)):
        assert str(rates.precision) in text
    assert str(expected.roc_auc) in text


def test_a_model_gives_the_share(poscount_, folder, tmp_path):
    pytest.importorskip("matplotlib")
    files = folder / "held_out.csv", folder / "sample.csv"
    out, picture = tmp_path / "rates.csv", tmp_path / "rates.png"
    poscount_(
        *("evaluate", *files, "--score", "score", "--model", folder / "model.poscount"),
        *("-o", out, "--plot", picture),
    )
    table = pd.read_csv(out)
    assert {"threshold", "recall", "recall_low", "precision_high"} <= set(table)
    assert table["recall"].is_monotonic_increasing
    assert picture.read_bytes()[1:4] == b"PNG"


def test_what_is_wrong_is_said_in_one_sentence(refused, folder, tmp_path):
    files = folder / "held_out.csv", folder / "sample.csv"
    asked = ("evaluate", *files, "--score")
    assert "Say which share" in refused(*asked, "score")
    assert "column 'scores'" in refused(*asked, "scores", "--prevalence", 0.3)
    model = folder / "with_scores.poscount"
    assert "are a feature of the model" in refused(*asked, "score", "--model", model)
    sentence = refused(*asked, "score", "--prevalence", 0)
    assert "the sample has no positives" in sentence
    gaps = pd.read_csv(files[1])
    gaps.loc[4, "score"] = np.nan
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    told = ("evaluate", files[0], tmp_path / "gaps.csv", "--score", "score", "--prevalence", 0.3)
    assert "gaps.csv: column 'score', row 5: the score is missing" in refused(*told)


def test_what_is_read_only_once_is_not_said_to_be_empty(poscount_, refused, folder, monkeypatch):
    text = (folder / "sample.csv").read_bytes()

    def from_input(run, *options):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
        return run("evaluate", folder / "held_out.csv", "-", "--score", "score", *options)

    sentence = from_input(refused, "--model", folder / "model.poscount")
    assert "but standard input can be read only once" in sentence
    assert sentence.endswith("Choose it with --prevalence.")
    expected = evaluate(*scores(folder), 0.3, random_state=0)
    assert str(expected.roc_auc) in from_input(poscount_, "--prevalence", 0.3).out
