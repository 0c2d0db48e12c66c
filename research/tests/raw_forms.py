"""The forms in which the sources offer the data sets, built from rows in the stored form."""

import io
import zipfile

import numpy as np


def lines(rows, separator=","):
    return "".join(f"{separator.join(row)}\n" for row in rows)


def letter(header, rows):
    data = lines([row[-1], *row[:-1]] for row in rows)
    return zipped({"letter-recognition.data": data, "letter-recognition.names": "prose"})


def pendigits(header, rows):
    # UCI pads the numbers with spaces; the first 7494 are the training part.
    padded = [[cell.rjust(3) for cell in row] for row in rows]
    parts = {"pendigits.tra": lines(padded[:7494]), "pendigits.tes": lines(padded[7494:])}
    return zipped({**parts, "pendigits-orig.tra.Z": "other"})


def htru2(header, rows):
    return zipped({"HTRU_2.csv": lines(rows).replace("\n", "\r\n"), "Readme.txt": "prose"})


def wine(header, rows):
    names = ";".join(f'"{name.replace("_", " ")}"' for name in [*header[:-1], "quality"])
    # Whole numbers have no decimals there.
    parts = {
        f"winequality-{colour}.csv": f"{names}\n"
        + lines(([c.removesuffix(".0") for c in row[:-1]] + ["5"] for row in chosen), ";")
        for colour in ("red", "white")
        for chosen in [[row for row in rows if row[-1] == colour]]
    }
    return zipped({**parts, "winequality.names": "prose"})


def anuran_calls(header, rows):
    names = [name.replace("MFCCs_", "MFCCs_ ") if len(name) < 8 else name for name in header[:22]]
    first = lines([[*names, "Family", "Genus", "Species", "RecordID"]])
    data = first + lines([*row[:22], row[-1], *row[22:24], "7"] for row in rows)
    return zipped({"Frogs_MFCCs.csv": data, "Readme.txt": "prose"})


def japanese_vowels(header, rows):
    members = {}
    labels = [row[-1] for row in rows]
    # The stored file has two runs of nine speakers: training, then test.
    cut = next(i for i in range(1, len(rows)) if labels[i] < labels[i - 1])
    for part, chosen in (("train", rows[:cut]), ("test", rows[cut:])):
        blocks, sizes = [], []
        for speaker in sorted({row[-1] for row in chosen}):
            frames = [" ".join(row[:-1]) + " \n" for row in chosen if row[-1] == speaker]
            # Utterances of ten frames; the last one has what is left.
            own = ["".join(frames[i : i + 10]) for i in range(0, len(frames), 10)]
            blocks += own
            sizes.append(str(len(own)))
        members[f"ae.{part}"] = "\n".join(blocks) + "\n"
        members[f"size_ae.{part}"] = " ".join(sizes)
    return zipped(members)


def arabic_digit(header, rows):
    """Utterances of two frames, mean - sd and mean + sd: they have that mean and deviation."""
    members = {}
    ordered = sorted(rows, key=lambda row: (row[-1], row[-2] == "female"))
    of_digit = {digit: [r for r in ordered if r[-1] == digit] for digit in map(str, range(10))}
    for part, first, last in (("Train", 0, 0.75), ("Test", 0.75, 1)):
        blocks = []
        for own in of_digit.values():
            for sex in ("male", "female"):
                spoken = [row for row in own if row[-2] == sex]
                for row in spoken[int(first * len(spoken)) : int(last * len(spoken))]:
                    numbers = np.array(row[:26], dtype=float)
                    mean, deviation = numbers[::2], numbers[1::2]
                    frames = (mean - deviation, mean + deviation)
                    blocks.append("".join(" ".join(map(repr, f.tolist())) + "\n" for f in frames))
        members[f"{part}_Arabic_Digit.txt"] = "            \n" + "            \n".join(blocks)
    return zipped(members)


def bng_japanese_vowels(header, rows):
    names = ["utterance", "frame", *header[:-1]]
    attributes = "".join(f"@ATTRIBUTE {name} NUMERIC\n" for name in names)
    speakers = "@attribute 'speaker' {1,2,3,4,5,6,7,8,9}\n"
    data = lines(["1", "2", *row[:-1], f"'{row[-1]}'"] for row in rows)
    return f"% made\n@relation BNG\n\n{attributes}{speakers}\n@data\n{data}".encode()


def handwritten(header, rows):
    place = header.index("author") + 1
    names = [*header[:place], "letter", *header[place:-1]]
    return lines([names, *([*r[:place], r[-1], *r[place:-1]] for r in rows)]).encode()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in members.items():
            # Without a date: equal content must be equal bytes, in every worker of the tests.
            file.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
