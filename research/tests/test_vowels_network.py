"""The stand-in for B: drawn from the network that it says, the same every time, and overlapping."""

import numpy as np
import pytest

from poscount import PAT
from poscount.errors import InputError
from research.datasets import CATALOG, fetch, load, sample_vowels_network
from research.datasets.dataset import Content
from research.datasets.vowels_network import learn


@pytest.fixture
def vowels(paper_directory, monkeypatch):
    monkeypatch.setenv("POSCOUNT_DATA", str(paper_directory))
    return load("vowels")


def test_the_same_every_time_and_another_with_another_seed(vowels, global_generator_untouched):
    data = load("vowels-network")
    assert data.features.shape == (120_000, 12)
    assert data.feature_names == vowels.feature_names
    assert (data.key, data.positive) == ("vowels-network", "1")
    assert data.negatives == vowels.negatives
    assert load("vowels-network").sha256 == data.sha256
    assert sample_vowels_network(120_000, random_state=0).sha256 == data.sha256
    assert sample_vowels_network(120_000, random_state=1).sha256 != data.sha256
    assert sample_vowels_network(700, np.random.default_rng(0)).features.shape == (700, 12)
    assert load("vowels-network:positive=3").negatives == ("1", "2", *"456789")


def test_every_speaker_has_the_distributions_of_japanese_vowels(vowels):
    data = sample_vowels_network(200_000, random_state=5)
    assert (data.features.min(axis=0) >= vowels.features.min(axis=0)).all()
    assert (data.features.max(axis=0) <= vowels.features.max(axis=0)).all()
    edges = [np.histogram_bin_edges(x, 10) for x in vowels.features.T]
    for speaker in "123456789":
        ours = data.features[data.labels == speaker]
        theirs = vowels.features[vowels.labels == speaker]
        assert len(ours) / 200_000 == pytest.approx(len(theirs) / 9961, abs=0.004)
        for j in range(12):
            drawn, seen = (np.histogram(x[:, j], edges[j])[0] / len(x) for x in (ours, theirs))
            # Not equal, because half a row more in every cell matters where cells have few rows.
            assert drawn == pytest.approx(seen, abs=0.03)


def made(rng, n):
    """Two classes; b follows a in one and runs against it in the other, c is apart."""
    labels = rng.choice(["u", "v"], n, p=[0.3, 0.7])
    a, c = rng.normal(size=(2, n))
    b = np.where(labels == "u", a, -a) + 0.3 * rng.normal(size=n)
    return Content(("a", "b", "c"), np.column_stack([a, b, c + (labels == "v")]), labels)


def test_arcs_are_kept_and_all_else_depends_on_the_class_alone():
    base = made(np.random.default_rng(0), 20_000)
    network = learn(base)
    assert (0, 1) in [(node.parent, node.feature) for node in network.nodes]
    drawn = network.draw(50_000, np.random.default_rng(1))
    for label, sign, share in [("u", 1, 0.3), ("v", -1, 0.7)]:
        rows = drawn.features[drawn.labels == label]
        assert len(rows) / 50_000 == pytest.approx(share, abs=0.01)
        correlations = np.corrcoef(rows.T)
        assert sign * correlations[0, 1] > 0.8
        assert abs(correlations[0, 2]) < 0.05
        assert rows[:, 2].mean() == pytest.approx(float(label == "v"), abs=0.05)


def test_tables_are_counts_plus_a_half():
    base = made(np.random.default_rng(0), 500)
    for node in learn(base).nodes:
        assert node.shares.sum(axis=2) == pytest.approx(1)
        x = base.features[:, node.feature]
        for k, label in enumerate("uv"):
            for b in range(node.shares.shape[1]):
                chosen = base.labels == label
                if node.parent is not None:
                    parent = base.features[:, node.parent]
                    bins = np.digitize(parent, np.linspace(parent.min(), parent.max(), 11)[1:-1])
                    chosen &= bins == b
                counts = np.histogram(x[chosen], node.edges)[0] + 0.5
                assert node.shares[k, b] == pytest.approx(counts / counts.sum())


def answers_without_positives(data):
    """PAT's answers for 2,000 rows of each negative speaker alone: the truth is 0."""
    model = PAT(random_state=0).fit(data.features[data.is_positive][:500])
    return {
        s: float(model.quantify(data.features[data.labels == s][:2000])) for s in data.negatives
    }


def test_some_speakers_look_like_a_part_of_the_positives(vowels):
    overlapping = answers_without_positives(load("vowels-network"))
    assert max(overlapping.values()) > 0.2
    assert min(overlapping.values()) < 0.05
    assert max(answers_without_positives(vowels).values()) < 0.1


def test_without_japanese_vowels_the_error_says_what_to_fetch(data_home):
    with pytest.raises(InputError, match="python -m research datasets fetch vowels`") as caught:
        load("vowels-network")
    assert str(data_home / "japanese_vowels.csv.gz") in str(caught.value)
    with pytest.raises(ValueError, match=r"vowels-network is not fetched.*fetch that one"):
        fetch("vowels-network")


def test_kin_are_named():
    kin = {key: entry.derived_from for key, entry in CATALOG.items() if entry.derived_from}
    assert kin == {"B": "vowels", "vowels-network": "vowels", "q-g": "H"}
