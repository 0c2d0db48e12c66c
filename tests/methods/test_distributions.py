"""Every method with an interval has a distribution, which is the source of the interval."""

import numpy as np
import pandas as pd
import pytest

from poscount import (
    BBE,
    PAT,
    RCQ,
    TRCQ,
    Bootstrap,
    Minimum,
    MultiRCQ,
    ODIn,
    RCQWithNegatives,
    SubclassRCQ,
)
from poscount.results.distribution import LEVELS

NAMES = ["a", "b", "c"]
rng = np.random.default_rng(5)


def around(centre, n):
    return pd.DataFrame(rng.normal(centre, 1, size=(n, 3)), columns=NAMES)


POSITIVES, OTHERS = around(0, 300), around(3, 60)
SAMPLE = pd.concat([around(0, 150), around(1.5, 200), around(3, 100)], ignore_index=True)
NONE = around(9, 200)
ALL = around(0, 300)

FITTED = {
    "RCQ": lambda level: RCQ(confidence=level, random_state=0).fit(POSITIVES),
    "null": lambda level: RCQ(calibration="null", confidence=level, random_state=0).fit(POSITIVES),
    "few positives": lambda level: RCQ(confidence=level, random_state=0).fit(POSITIVES[:15]),
    "SubclassRCQ": lambda level: SubclassRCQ(2, confidence=level, random_state=0).fit(POSITIVES),
    "negatives": lambda level: RCQWithNegatives(confidence=level, random_state=0).fit(
        POSITIVES, negatives=OTHERS
    ),
    "PAT": lambda level: PAT(confidence=level, random_state=0).fit(POSITIVES),
    "ODIn": lambda level: ODIn(confidence=level, random_state=0).fit(POSITIVES),
    "TRCQ": lambda level: TRCQ(confidence=level, random_state=0).fit(POSITIVES),
    "Bootstrap": lambda level: Bootstrap(BBE(), 5, confidence=level, random_state=0).fit(POSITIVES),
    "Minimum": lambda level: Minimum(
        [PAT(confidence=level), ODIn(confidence=level)], random_state=0
    ).fit(POSITIVES),
    "MultiRCQ": lambda level: MultiRCQ(confidence=level, random_state=0).fit(
        {"first": POSITIVES, "second": OTHERS}
    ),
}


def answers(model, sample):
    found = model.quantify(sample)
    return list(found.values()) if isinstance(model, MultiRCQ) else [found]


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("sample", [SAMPLE, NONE, ALL], ids=["some", "none", "all"])
def test_quantiles_ascend_around_the_answer(name, sample):
    model = FITTED[name](0.95)
    assert model.gives_interval
    for p in answers(model, sample):
        quantiles = p.distribution.quantiles
        assert quantiles.shape == LEVELS.shape
        assert quantiles[0] >= 0
        assert quantiles[-1] <= 1
        assert (np.diff(quantiles) >= 0).all()
        assert p.distribution.quantile(0.5) == float(p)
        assert p.interval == p.distribution.interval(0.95)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("level", [0.8, 0.73])
def test_an_interval_of_another_level_needs_no_other_estimate(name, level):
    of_level, of_another = (answers(FITTED[name](x), SAMPLE) for x in (level, 0.95))
    for asked, read_off in zip(of_level, of_another, strict=True):
        assert asked.interval == read_off.distribution.interval(level)


@pytest.mark.parametrize("name", ["RCQ", "PAT", "SubclassRCQ", "negatives"])
@pytest.mark.parametrize("level", [0.95, 0.73])
def test_tables_of_groups_have_the_ends_of_the_distributions(name, level):
    model = FITTED[name](level)
    rows = SAMPLE.assign(group=np.arange(len(SAMPLE)) % 3)
    table, found = model.quantify_by(rows, "group"), model.quantify_groups(rows, "group")
    ends = [tuple(p.distribution.interval(level)) for p in found.values()]
    assert list(zip(table["low"], table["high"], strict=True)) == ends


def test_methods_without_an_interval_say_so():
    assert not BBE().gives_interval
    assert not Minimum([PAT(), BBE()]).gives_interval
    assert BBE(random_state=0).fit(POSITIVES).quantify(SAMPLE).distribution is None
