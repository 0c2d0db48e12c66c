"""BBE's search, written to be read: every score is tried as a threshold."""

import math


def best_bin(labeled, unlabeled, delta=0.1, gamma=0.01):
    """Smallest upper bound over all thresholds, and the ratio of shares there."""
    n_labeled, n_unlabeled = len(labeled), len(unlabeled)
    noise = math.sqrt(math.log(4 / delta) / (2 * n_unlabeled))
    noise += math.sqrt(math.log(4 / delta) / (2 * n_labeled))
    best = (math.inf, None)
    for threshold in sorted([*labeled, *unlabeled]):
        share_labeled = sum(score >= threshold for score in labeled) / n_labeled
        share_unlabeled = sum(score >= threshold for score in unlabeled) / n_unlabeled
        if share_labeled > 0:
            ratio = share_unlabeled / share_labeled
            bound = ratio + (1 + gamma) / share_labeled * noise
            if bound < best[0]:
                best = (bound, ratio)
    return best
