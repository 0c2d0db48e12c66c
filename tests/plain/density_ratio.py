"""DEDPUL's density ratio, smoothing and fixed point, written to be read."""

import math


def density(value, data, bandwidth):
    kernel = (math.exp(-0.5 * ((value - x) / bandwidth) ** 2) for x in data)
    return sum(kernel) / (len(data) * bandwidth * math.sqrt(2 * math.pi))


def density_ratio(labeled, unlabeled, bandwidth):
    return [
        density(value, labeled, bandwidth) / density(value, unlabeled, bandwidth)
        for value in unlabeled
    ]


def smoothed(ratio, start, share=0.05):
    ratio = list(ratio)
    for i in range(start + 1, len(ratio)):
        ratio[i] = max(ratio[i], ratio[i - 1])
    for i in range(start - 2, -1, -1):
        ratio[i] = min(ratio[i], ratio[i + 1])
    reach = int(share * len(ratio) / 2)
    padded = [ratio[0]] * reach + ratio + [ratio[-1]] * reach
    windows = (sorted(padded[i : i + 2 * reach + 1]) for i in range(len(ratio)))
    return [window[reach] for window in windows]


def largest_consistent(ratio, n_labeled, slack=0.1, steps=2000):
    """Largest of a fine grid of prevalences whose mean posterior keeps up with it."""
    answer = 0.0
    for i in range(steps + 1):
        p = i / steps
        mean = sum(min(p * r, 1) for r in ratio) / len(ratio)
        if p - mean <= slack * math.sqrt(p * p / n_labeled + p / len(ratio)):
            answer = p
    return answer
