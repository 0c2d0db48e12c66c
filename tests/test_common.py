"""scikit-learn's own checks on every estimator and scorer."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from poscount import Mahalanobis, registry

# One number for a whole sample can be neither reordered nor taken in parts.
BAG_LEVEL = {
    "check_methods_sample_order_invariance": "a prevalence has no order",
    "check_methods_subset_invariance": "a prevalence is of the whole sample",
}


def expected_failures(estimator):
    return {} if isinstance(estimator, Mahalanobis) else BAG_LEVEL


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [registry.method(name)() for name in registry.METHODS]
    + [Mahalanobis(), Mahalanobis("ledoit-wolf")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
