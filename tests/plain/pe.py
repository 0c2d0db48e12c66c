"""PE written for reading: one loop per width, penalty and fold, one solve in the middle."""

import numpy as np

from poscount.methods.pu import gaussian


def basis(rows, centres, width):
    squares = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * width**2))


def moments(labeled_basis, sample_basis, share):
    h = labeled_basis.mean(axis=0)
    H = share * labeled_basis.T @ labeled_basis / len(labeled_basis)
    H += (1 - share) * sample_basis.T @ sample_basis / len(sample_basis)
    return H, h


def estimate(positives, sample, generator, published=False):
    """Share of positives, and the scores by width and penalty."""
    n_labeled, n_unlabeled = len(positives), len(sample)
    share = n_labeled / (n_labeled + n_unlabeled)
    n_folds = min(5, n_labeled, n_unlabeled)
    # The random choices of the fast version, in its order.
    chosen = gaussian.subsample(np.arange(n_labeled), 500, generator)
    some = gaussian.subsample(np.vstack([positives, sample]), 1000, generator)
    of_fold = gaussian.shuffled_folds(np.arange(n_labeled), n_folds, generator)
    labeled_folds = [positives[fold] for fold in of_fold]
    sample_folds = gaussian.shuffled_folds(sample, n_folds, generator)

    distances = [
        np.sqrt(((some[i] - some[j]) ** 2).sum()) for i in range(len(some)) for j in range(i)
    ]
    middle = np.median(distances)
    widths, penalties = np.linspace(1 / 5, 5, 10) * middle, np.logspace(-3, 1, 9)
    scores = np.zeros((10, 9))
    centres = positives[chosen]
    if published and n_folds > 1:
        # The authors' centres were the training rows of the fold.
        centres = positives[[row for row in chosen if row not in of_fold[-1]]]
    for i, width in enumerate(widths):
        labeled_basis = [basis(fold, centres, width) for fold in labeled_folds]
        sample_basis = [basis(fold, centres, width) for fold in sample_folds]
        for k in [n_folds - 1] if published else range(n_folds):
            rest = [m for m in range(n_folds) if m != k or n_folds == 1]
            H, h = moments(
                np.vstack([labeled_basis[m] for m in rest]),
                np.vstack([sample_basis[m] for m in rest]),
                share,
            )
            H_held, h_held = moments(labeled_basis[k], sample_basis[k], share)
            for j, penalty in enumerate(penalties):
                a = np.linalg.solve(H + penalty * np.eye(len(h)), h)
                scores[i, j] += 0.5 * a @ H_held @ a - a @ h_held
    i, j = np.unravel_index(np.argmin(scores), scores.shape)
    centres = positives[chosen]
    H, h = moments(basis(positives, centres, widths[i]), basis(sample, centres, widths[i]), share)
    a = np.linalg.solve(H + penalties[j] * np.eye(len(h)), h)
    prior = min(1.0, max(share, 1 / (2 * a @ h - a @ H @ a)))
    if published:
        return prior, scores
    return min(1.0, max(0.0, ((n_labeled + n_unlabeled) * prior - n_labeled) / n_unlabeled)), scores
