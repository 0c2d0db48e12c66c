"""What is known about the paper's ten data sets and three stand-ins; no data are read here.

The addresses were collected without a network, from public repositories that use them. Nobody has
downloaded from them for this file, which is why each entry says "not verified". A download is
checked by the checksum of its values for all data sets whose file we have.
"""

from __future__ import annotations

from dataclasses import dataclass

_UCI = "https://archive.ics.uci.edu"
_AUTHORS = "https://github.com/denismr/PUandOCQ"
_AUTHORS_FILES = "https://raw.githubusercontent.com/denismr/PUandOCQ/master/data"
_CC_BY = "CC BY 4.0"


@dataclass(frozen=True)
class Entry:
    """One data set, as the paper uses it.

    Attributes
    ----------
    key : str
        The paper's letter, or the name of a stand-in.
    file : str
        The stored file is ``<file>.csv.gz``: a header, then rows, the class in the column "class".
        A generated data set names the file that it is learned from.
    title, page, licence : str
        What it is, the page that describes it, and its terms of use.
    positive : str
        The positive class.
    rows, n_features : int
        The size of the stored file, with all classes and without the dropped columns; of a
        generated data set its own size.
    negatives : tuple of str
        The classes used as negatives; all but the positive one if empty.
    dropped : tuple of str
        Columns of the stored file that are not features.
    sha256 : str or None
        Checksum of the values (`research.datasets.dataset.checksum`); None if we do not have the
        file.
    address : str or None
        The address that `fetch` downloads from; None if it must not or cannot.
    converter : str
        The name of the function in `research.datasets.converters` that makes the stored form.
    exact : bool
        Whether the conversion gives exactly the values of `sha256`, in the same order; if not, the
        checksum is that of the file of the paper's authors, and is not compared.
    verified : str
        What is known about the address and the conversion.
    note : str
        What users must know before they use it.
    derived_from : str or None
        Key of the data set that its rows come from, wholly or by a model. What is tuned on one of
        the two must not be tested on the other.
    """

    key: str
    file: str
    title: str
    page: str
    licence: str
    positive: str
    rows: int
    n_features: int
    negatives: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    sha256: str | None = None
    address: str | None = None
    converter: str = ""
    exact: bool = True
    verified: str = "address not verified"
    note: str = ""
    derived_from: str | None = None


_ENTRIES = (
    Entry(
        key="A",
        file="arabic_digit",
        title="Spoken Arabic Digit, mean and standard deviation of 13 MFCCs",
        page=f"{_UCI}/dataset/195/spoken+arabic+digit",
        licence="as stated by UCI; not verified",
        positive="0",
        rows=8800,
        n_features=26,
        dropped=("sex",),
        sha256="5562e9c8f5566aa83c3039ea4c48bdb92ec17d44e68b1b92778cce5dce00c4e3",
        address=f"{_UCI}/static/public/195/spoken+arabic+digit.zip",
        converter="arabic_digit",
        exact=False,
        verified="address not verified; rows in UCI's order, the paper's file is shuffled and "
        "rounded to 14 digits, so that its checksum cannot be compared",
    ),
    Entry(
        key="B",
        file="bng_japanese_vowels",
        title="BNG (Japanese Vowels), drawn from a Bayesian network",
        page="https://www.openml.org/d/1214",
        licence="as stated by OpenML; not verified",
        positive="1",
        rows=1_000_000,
        n_features=12,
        address="https://www.openml.org/api/v1/json/data/1214",
        converter="bng_japanese_vowels",
        note="OpenML says where the file is, and its MD5.",
        derived_from="vowels",
    ),
    Entry(
        key="C",
        file="anuran_calls",
        title="Anuran Calls (MFCCs), class = family",
        page=f"{_UCI}/dataset/406/anuran+calls+mfccs",
        licence=_CC_BY,
        positive="Hylidae",
        rows=7195,
        n_features=22,
        negatives=("Leptodactylidae",),
        dropped=("genus", "species"),
        sha256="4fa21551a83b193f5225e6bb4fb9277e47e697d87a8ce1a981b9076a1ce7ab54",
        address=f"{_UCI}/static/public/406/anuran+calls+mfccs.zip",
        converter="anuran_calls",
    ),
    Entry(
        key="H",
        file="handwritten",
        title="Handwritten letters q, p and g",
        page=_AUTHORS,
        licence="not stated by the authors",
        positive="q",
        rows=6014,
        n_features=63,
        dropped=("author",),
        address=f"{_AUTHORS_FILES}/Handwritten.csv",
        converter="handwritten",
    ),
    Entry(
        key="I",
        file="insects",
        title="Insects: flight of 14 species, 18 classes with the sexes",
        page="https://dataverse.harvard.edu/dataset.xhtml?persistentId=doi:10.7910/DVN/6J5BXV",
        licence="as stated by Harvard Dataverse; not verified",
        positive="2",
        rows=166_880,
        n_features=27,
        note="Class 2 is female Aedes aegypti. The form in which its source offers it is not known "
        "here.",
    ),
    Entry(
        key="L",
        file="letter",
        title="Letter Recognition",
        page=f"{_UCI}/dataset/59/letter+recognition (OpenML 6 has the same rows)",
        licence=_CC_BY,
        positive="W",
        rows=20_000,
        n_features=16,
        sha256="069457f928f18224c174e208a2f11094a92f4bea29e24669975e34e02c59d943",
        address=f"{_UCI}/static/public/59/letter+recognition.zip",
        converter="letter",
    ),
    Entry(
        key="N",
        file="insects_v2",
        title="Insects v2: flight of 18 classes of insects",
        page=_AUTHORS,
        licence="not to be used in publications without asking",
        positive="2",
        rows=83_550,
        n_features=10,
        note="Class 2 is female Aedes aegypti. Its owners ask not to publish it, or results "
        "obtained with it, without contacting them first.",
    ),
    Entry(
        key="P",
        file="pendigits",
        title="Pen-Based Recognition of Handwritten Digits",
        page=f"{_UCI}/dataset/81/pen+based+recognition+of+handwritten+digits",
        licence=_CC_BY,
        positive="5",
        rows=10_992,
        n_features=16,
        sha256="b6b6ed754a80747c16e8e06db539557c472929d7bdb754f4ac8ae7f90aa9a442",
        address=f"{_UCI}/static/public/81/pen+based+recognition+of+handwritten+digits.zip",
        converter="pendigits",
    ),
    Entry(
        key="R",
        file="htru2",
        title="HTRU2 pulsar candidates",
        page=f"{_UCI}/dataset/372/htru2",
        licence=_CC_BY,
        positive="1",
        rows=17_898,
        n_features=8,
        sha256="08773589685289959e23418ce951d630ce40fc8b6b7a19c2803f69d98de3a0e3",
        address=f"{_UCI}/static/public/372/htru2.zip",
        converter="htru2",
        note="The paper's 63 features are a slip: there are 8.",
    ),
    Entry(
        key="W",
        file="wine",
        title="Wine Quality, class = colour, quality dropped",
        page=f"{_UCI}/dataset/186/wine+quality",
        licence=_CC_BY,
        positive="red",
        rows=6497,
        n_features=11,
        sha256="b3732388ff38031edfd5809ba4bbf61acd7560319dab29957bacda86ab524446",
        address=f"{_UCI}/static/public/186/wine+quality.zip",
        converter="wine",
    ),
    Entry(
        key="vowels",
        file="japanese_vowels",
        title="Japanese Vowels, frames as rows, class = speaker; stands in for B",
        page=f"{_UCI}/dataset/128/japanese+vowels",
        licence=_CC_BY,
        positive="1",
        rows=9961,
        n_features=12,
        sha256="ce456a63d6a34231da8ad1faaee88ce17178053609846ca5bc9c7e76005f0890",
        address=f"{_UCI}/static/public/128/japanese+vowels.zip",
        converter="japanese_vowels",
        note="B was generated from it; not in the paper.",
    ),
    Entry(
        key="vowels-network",
        file="japanese_vowels",
        title="Drawn from a network learned from Japanese Vowels, as B was; stands in for B",
        page=f"{_UCI}/dataset/128/japanese+vowels",
        licence=_CC_BY,
        positive="1",
        rows=120_000,
        n_features=12,
        note="It is generated from vowels when it is loaded: fetch that one.",
        derived_from="vowels",
    ),
    Entry(
        key="q-g",
        file="handwritten_qg",
        title="Handwritten letters q and g; stands in for H",
        page=_AUTHORS,
        licence="not stated by the authors",
        positive="q",
        rows=4010,
        n_features=63,
        dropped=("author",),
        sha256="25f30db2e22fea1b972680111c37135e1f31908b9342d9a8c2dca565b8866404",
        address=f"{_AUTHORS_FILES}/Handwritten.csv",
        converter="handwritten_qg",
        note="H without the letter p; not in the paper.",
        derived_from="H",
    ),
)

CATALOG = {entry.key: entry for entry in _ENTRIES}


def find(name: str) -> Entry | None:
    """Entry of a key or a file name, if there is one.

    Examples
    --------
    >>> find("letter").key
    'L'
    """
    # A generated data set comes after the one whose file it names.
    by_file = (entry for entry in CATALOG.values() if entry.file == name)
    return CATALOG.get(name) or next(by_file, None)
