"""pen-L1 written for reading: every prevalence, width, penalty and fold in turn."""

import numpy as np

from poscount.methods.pu import gaussian


def basis_mean(rows, centres, width):
    squares = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * width**2)).mean(axis=0)


def curve(positives, sample, generator, prevalences):
    """Penalised divergence at each of the prevalences."""
    n_folds = min(5, len(positives), len(sample))
    # The random choices of the fast version, in its order.
    centres = gaussian.subsample(sample, 300, generator)
    some = gaussian.subsample(sample, 1000, generator)
    labeled_folds = gaussian.shuffled_folds(positives, n_folds, generator)
    sample_folds = gaussian.shuffled_folds(sample, n_folds, generator)

    squares = ((some[:, np.newaxis] - centres) ** 2).sum(axis=2)
    widths = np.sqrt(np.median(squares)) * np.logspace(-2, 1, 10)
    penalties = np.logspace(-3, 1, 10)

    means = {}
    for i, width in enumerate(widths):
        means[i] = [basis_mean(rows, centres, width) for rows in (positives, sample)]
        for k in range(n_folds):
            rest = [m for m in range(n_folds) if m != k or n_folds == 1]
            for j, folds in enumerate((labeled_folds, sample_folds)):
                means[i, k, j, "held"] = basis_mean(folds[k], centres, width)
                others = np.vstack([folds[m] for m in rest])
                means[i, k, j, "rest"] = basis_mean(others, centres, width)

    values = []
    for theta in prevalences:
        scores = np.zeros((10, 10))
        for i in range(10):
            for k in range(n_folds):
                rest = theta * means[i, k, 0, "rest"] - means[i, k, 1, "rest"]
                held = theta * means[i, k, 0, "held"] - means[i, k, 1, "held"]
                for j, penalty in enumerate(penalties):
                    scores[i, j] += -np.maximum(0, rest) @ held / penalty
        i, j = np.unravel_index(np.argmin(scores), scores.shape)
        beta = theta * means[i][0] - means[i][1]
        values.append((np.maximum(0, beta) ** 2).sum() / penalties[j] - theta + 1)
    return np.array(values)
