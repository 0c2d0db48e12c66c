"""scikit-learn's own checks on every estimator and scorer."""

import pytest
import sklearn
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from poscount import BBE, Bootstrap, Mahalanobis, registry

# One number for a whole sample can be neither reordered nor taken in parts.
BAG_LEVEL = {
    "check_methods_sample_order_invariance": "a prevalence has no order",
    "check_methods_subset_invariance": "a prevalence is of the whole sample",
}
if parse_version(sklearn.__version__) < parse_version("1.7.2"):
    # It subtracts a mean in place from the integers that it gives to estimators for categories.
    BROKEN_CHECK = {"check_positive_only_tag_during_fit": "the check itself fails"}
else:
    BROKEN_CHECK = {}


def expected_failures(estimator):
    if isinstance(estimator, Mahalanobis):
        return {}
    return BAG_LEVEL | (BROKEN_CHECK if get_tags(estimator).input_tags.categorical else {})


def without_labels(kind):
    """The same method without labels: those of the checks are any classes, and here 1 is special.

    As a class at the top of this module, because the checks pickle it, and with the same name, by
    which some methods look up what is theirs.
    """

    def fit(self, X, y=None, **more):
        return kind.fit(self, X, **more)

    name = kind.__name__
    globals()[name] = type(name, (kind,), {"fit": fit, "__module__": __name__})
    return globals()[name]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [without_labels(registry.method(name))() for name in registry.METHODS]
    + [without_labels(Bootstrap)(BBE(), 2), Mahalanobis(), Mahalanobis("ledoit-wolf")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
