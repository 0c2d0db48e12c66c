"""Changes to data that should not matter: what each method declares exact is exact, the rest bound.

The order of rows and columns of tables, blocks and threads are in test_determinism.py.
"""

import numpy as np
import pytest

from answers import assert_same_answer
from metamorphic_relations import BOUNDS, EXACT, RELATIONS, changes, data
from poscount import registry
from poscount.base.counting import CountingQuantifier

COUNTING = [
    name for name in registry.METHODS if issubclass(registry.method(name), CountingQuantifier)
]


def test_every_method_declares_what_moves_its_answer():
    assert set(BOUNDS) == set(registry.METHODS)
    assert all(set(bounds) <= set(RELATIONS) for bounds in BOUNDS.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", registry.METHODS)
def test_methods_are_held_to_what_they_declare(method):
    for relation, change in changes(method, seed=3).items():
        bound, reason = BOUNDS[method].get(relation, (EXACT, "it should not matter"))
        assert change <= bound, (relation, reason)


@pytest.mark.parametrize("method", COUNTING)
def test_parts_of_a_sample_add_up_to_it(method):
    positives, sample = data(1)
    model = registry.method(method)(random_state=0).fit(positives)
    whole = model.quantify(sample)
    one, two, three = map(model.count, np.split(sample, [17, 130]))
    assert_same_answer(model.estimate(one + two + three), whole)
    assert_same_answer(model.estimate(three + (one + two)), whole)
    assert_same_answer(model.estimate(one + two + three + two - two), whole)
