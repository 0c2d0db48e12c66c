"""The examples of the page besides the trap, made anew by ``python tests/web/test_examples.py``.

The register is simulated. The penguins are real (Palmer penguins: K. Gorman, T. Williams and
W. Fraser, 2014; CC0), and the species of half of them is left out.
"""

import csv
import gzip
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src/poscount/web/examples"
PENGUINS = ROOT / "tests/penguins.csv"
CLINICS = {"north": (420, 0.16), "east": (610, 0.27), "south": (370, 0.38)}
DIAGNOSED = 0.45


def register():
    """Patients of three clinics, of whom some are known to have diabetes; and who else has it."""
    # RandomState is the only generator of numpy with the same numbers in every version.
    rng = np.random.RandomState(20260401)
    clinic = np.repeat(list(CLINICS), [n for n, _ in CLINICS.values()])
    sick = rng.random_sample(len(clinic)) < [CLINICS[name][1] for name in clinic]
    known = sick & (rng.random_sample(len(clinic)) < DIAGNOSED)
    age = np.clip(
        np.where(sick, rng.normal(62, 9, len(sick)), rng.normal(47, 15, len(sick))), 18, 94
    )
    bmi = np.where(sick, rng.normal(31, 4, len(sick)), rng.normal(26, 4, len(sick)))
    sugar = np.where(
        sick, 9.0 * np.exp(rng.normal(0, 0.17, len(sick))), rng.normal(5.4, 0.6, len(sick))
    )
    family = rng.random_sample(len(sick)) < np.where(sick, 0.55, 0.2)
    smoker = np.array(["never", "former", "now"])[rng.randint(0, 3, len(sick))]
    gap = rng.random_sample((3, len(sick))) < [[0.06], [0.12], [0.09]]
    rows = [
        {
            "patient_id": f"P{10_000 + i}",
            "clinic": clinic[i],
            "age": f"{age[i]:.0f}",
            "bmi": "" if gap[0, i] else f"{bmi[i]:.1f}",
            "glucose": f"{sugar[i]:.1f}",
            "in_family": "" if gap[1, i] else ("yes" if family[i] else "no"),
            "smoker": "" if gap[2, i] else smoker[i],
            "diagnosed": "yes" if known[i] else "",
        }
        for i in rng.permutation(len(sick))
    ]
    return rows, int((sick & ~known).sum())


def penguins():
    """All penguins with a mass, the species of half of them, and those of the others."""
    with open(PENGUINS, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["body_mass_g"] != "NA"]
    order = np.random.RandomState(20260402).permutation(len(rows))
    hidden = Counter(rows[i]["species"] for i in order[::2])
    for i in order[::2]:
        rows[i]["species"] = ""
    return [rows[i] for i in np.random.RandomState(0).permutation(len(rows))], hidden


def as_csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


FILES = {"register.csv.gz": register, "penguins.csv.gz": penguins}


def test_the_files_are_those_made_here():
    for name, made in FILES.items():
        assert gzip.decompress((FOLDER / name).read_bytes()) == as_csv(made()[0])
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 40_000


def test_what_the_page_says_of_the_truth_is_true():
    page = (ROOT / "src/poscount/web/static/app.js").read_text()
    assert f"{register()[1]} patients" in page
    hidden = penguins()[1]
    said = re.search(r"(\d+) Adelie, (\d+) Gentoo and (\d+) Chinstrap", page).groups()
    assert list(map(int, said)) == [hidden[name] for name in ("Adelie", "Gentoo", "Chinstrap")]


def main():
    for name, made in FILES.items():
        # Without a time and a name in the header, equal content gives equal bytes.
        (FOLDER / name).write_bytes(gzip.compress(as_csv(made()[0]), mtime=0))
        print(name, made()[1])


if __name__ == "__main__":
    main()
