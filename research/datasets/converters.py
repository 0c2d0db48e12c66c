"""Converters from the form in which a source offers a data set to the stored form, one for each.

A converter takes the downloaded file and yields lines of text cells: first the header, then the
rows, with the class in the last column, "class". Numbers keep the digits of the source. The forms
are those that the sources document; `research.datasets.fetching` checks the result.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

Lines = Iterator[list[str]]

_LETTER = (
    "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx"
)
_HTRU2 = "meanprof sd-prof exk-prof skewness-prof meandmsnr sd-dmsnr exk-dmsnr skewness-dmsnr"


def letter(path: Path) -> Lines:
    """UCI: ``letter-recognition.data``, without a header, the class first."""
    yield [*_LETTER.split(), "class"]
    for label, *cells in _rows(path, "letter-recognition.data"):
        yield [*cells, label]


def pendigits(path: Path) -> Lines:
    """UCI: ``pendigits.tra``, then ``pendigits.tes``, without headers, the class last."""
    yield [*(f"input{i}" for i in range(1, 17)), "class"]
    yield from _rows(path, "pendigits.tra")
    yield from _rows(path, "pendigits.tes")


def htru2(path: Path) -> Lines:
    """UCI: ``HTRU_2.csv``, without a header, the class last."""
    yield [*_HTRU2.split(), "class"]
    yield from _rows(path, "HTRU_2.csv")


def wine(path: Path) -> Lines:
    """UCI: a file for each colour, with a header, semicolons and the quality last."""
    for i, colour in enumerate(("red", "white")):
        rows = _rows(path, f"winequality-{colour}.csv", ";")
        *names, _ = next(rows)
        if i == 0:
            yield [*(name.replace(" ", "_") for name in names), "class"]
        for *cells, _ in rows:
            yield [*cells, colour]


def anuran_calls(path: Path) -> Lines:
    """UCI: ``Frogs_MFCCs.csv``, 22 coefficients, then family, genus, species and recording."""
    rows = _rows(path, "Frogs_MFCCs.csv")
    yield [*(name.replace(" ", "") for name in next(rows)[:22]), "genus", "species", "class"]
    for *cells, family, genus, species, _ in rows:
        yield [*cells, genus, species, family]


def japanese_vowels(path: Path) -> Lines:
    """UCI: blocks of frames, in the order of the nine speakers; the frames become rows.

    ``size_ae.train`` and ``size_ae.test`` hold the number of blocks of each speaker.
    """
    yield [*(f"coefficient{i}" for i in range(1, 13)), "class"]
    for part in ("train", "test"):
        sizes = [int(size) for size in " ".join(_lines(path, f"size_ae.{part}")).split()]
        speakers = np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()
        # Strict, so that a missing block cannot give all later ones a wrong speaker.
        for speaker, block in zip(speakers, _blocks(_lines(path, f"ae.{part}")), strict=True):
            for frame in block:
                yield [*frame, str(speaker)]


def arabic_digit(path: Path) -> Lines:
    """UCI: blocks of frames of 13 MFCCs; mean and standard deviation of each become a row.

    The blocks come in ten equal runs, one for each digit, the first half of each run spoken by men.
    The standard deviation divides by the number of frames, as in the file of the paper's authors.
    """
    statistics = [f"mfcc_{i}_{what}" for i in range(1, 14) for what in ("mu", "sd")]
    yield [*statistics, "sex", "class"]
    for part in ("Train", "Test"):
        blocks = list(_blocks(_lines(path, f"{part}_Arabic_Digit.txt")))
        run, rest = divmod(len(blocks), 10)
        if rest or run % 2:
            raise ValueError(f"{len(blocks)} utterances are not ten runs of two equal halves")
        for i, block in enumerate(blocks):
            frames = np.array(block, dtype=np.float64)
            moments = np.column_stack([frames.mean(axis=0), frames.std(axis=0)])
            sex = "male" if i % run < run // 2 else "female"
            yield [*map(repr, moments.ravel().tolist()), sex, str(i // run)]


def bng_japanese_vowels(path: Path) -> Lines:
    """OpenML: an ARFF file, of which only the coefficients and the speaker are used."""
    wanted = [*(f"coefficient{i}" for i in range(1, 13)), "speaker"]
    with open(path, encoding="utf-8", newline="") as file:
        names = []
        for line in file:
            keyword = line.split(maxsplit=1)[0].lower() if line.strip() else ""
            if keyword == "@data":
                break
            if keyword == "@attribute":
                # A name with a space in it is quoted; none that is wanted has one.
                names.append(line.split()[1].strip("'\""))
        places = [names.index(name) for name in wanted]
        yield [*wanted[:-1], "class"]
        for row in csv.reader(file, quotechar="'", skipinitialspace=True):
            if row and not row[0].startswith("%"):
                yield [row[i].strip() for i in places]


def handwritten(path: Path) -> Lines:
    """The authors' CSV file, with a header; the class is the column ``letter``."""
    yield from _handwritten(path, None)


def handwritten_qg(path: Path) -> Lines:
    """The authors' CSV file without the letter p."""
    yield from _handwritten(path, ("q", "g"))


CONVERTERS: dict[str, Callable[[Path], Lines]] = {
    converter.__name__: converter
    for converter in (
        letter,
        pendigits,
        htru2,
        wine,
        anuran_calls,
        japanese_vowels,
        arabic_digit,
        bng_japanese_vowels,
        handwritten,
        handwritten_qg,
    )
}


def _handwritten(path: Path, letters: Sequence[str] | None) -> Lines:
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        place = names.index("letter")
        yield [*names[:place], *names[place + 1 :], "class"]
        for row in rows:
            if letters is None or row[place] in letters:
                yield [*row[:place], *row[place + 1 :], row[place]]


def _rows(path: Path, member: str, delimiter: str = ",") -> Lines:
    for row in csv.reader(_lines(path, member), delimiter=delimiter):
        if row:
            yield [cell.strip() for cell in row]


def _lines(path: Path, member: str) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        # Anywhere in the archive: sources have moved files into folders and out of them.
        places = [name for name in archive.namelist() if PurePosixPath(name).name == member]
        if len(places) != 1:
            raise ValueError(f"the archive has {len(places)} files {member}, not one")
        with archive.open(places[0]) as raw:
            yield from io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _blocks(lines: Iterable[str]) -> Iterator[list[list[str]]]:
    """Frames between empty lines."""
    block: list[list[str]] = []
    for line in lines:
        cells = line.split()
        if cells:
            block.append(cells)
        elif block:
            yield block
            block = []
    if block:
        yield block
