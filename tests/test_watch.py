"""The detector of change, and `poscount watch` as a real process behind a pipe."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from far_negatives import frame
from poscount import BBE, PAT, RCQ, ChangeDetector, InputError
from poscount.change import detector as detector_module
from poscount.change.shared_regions import Ratios, SharedRegions
from poscount.cli import change, main

PYTHON = [sys.executable, "-c", "from poscount.cli import main; main()"]


@pytest.fixture(scope="module")
def model():
    return RCQ(random_state=0).fit(frame(np.random.default_rng(9), 300))


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "m.poscount"
    model.save(path)
    return str(path)


# The statistic


class _Shares(SharedRegions):
    """Windows that are pairs of a share and a number of rows."""

    def __init__(self):
        super().__init__(1.0, 100, 1.0, 0.0)

    def ratios(self, counts):
        ratio, n_rows = np.array(counts, float).T
        return Ratios(ratio, n_rows)


@pytest.fixture
def shares(monkeypatch):
    monkeypatch.setattr(detector_module, "shared_regions", lambda model, counts: _Shares())


def test_the_statistic_is_the_sum_of_likelihood_ratios(shares, model):
    """Against multivariate t densities of the differences to the first window."""
    rng = np.random.default_rng(0)
    n_rows = rng.integers(200, 900, 9)
    k = rng.binomial(n_rows, 0.3)
    found = ChangeDetector(model, baseline=5, run_length=1e9)
    for pair in zip(k / n_rows, n_rows, strict=True):
        reading = found.update(pair)
    y = np.arcsin(np.sqrt((k + 3 / 8) / (n_rows + 3 / 4)))
    prior = 4 / n_rows[:5].mean()
    contrasts = np.column_stack([-np.ones(8), np.eye(8)])
    independent = np.diag(1 / n_rows)

    def likelihood(covariance):
        # Of the direction of the contrasts: with the scale integrated out (Haar), up to a constant.
        matrix = contrasts @ covariance @ contrasts.T
        seen = contrasts @ y
        return np.linalg.det(matrix) ** -0.5 * (seen @ np.linalg.solve(matrix, seen)) ** -4.0

    expected = 0.0
    for j in range(5, 9):
        late = (np.arange(9) >= j).astype(float)
        expected += likelihood(independent + prior * np.outer(late, late)) / likelihood(independent)
    assert reading.statistic == pytest.approx(expected, rel=1e-9)


def test_neither_level_nor_spread_matters(shares, model):
    """Run length of at least 100 windows, if 100 are asked for, with any spread."""
    for between in (0.0, 0.03):
        lengths = []
        for seed in range(40):
            rng = np.random.default_rng([seed, 5])
            found = ChangeDetector(model, baseline=8, run_length=100)
            length = 0
            for _ in range(1500):
                share = np.clip(0.4 + between * rng.normal(), 0, 1)
                reading = found.update((rng.binomial(300, share) / 300, 300))
                length += not reading.learning
                if reading.alarm:
                    break
            lengths.append(length)
        # The standard error of the mean of 40 is about a sixth of it.
        assert np.mean(lengths) > 100


def test_an_alarm_and_a_new_beginning(model):
    rng = np.random.default_rng(1)
    found = ChangeDetector(model, baseline=10)
    readings = [
        found.update(model.count(frame(rng, 400, 0.3 if i < 20 else 0.5))) for i in range(50)
    ]
    alarms = [reading for reading in readings if reading.alarm]
    assert len(alarms) == 1
    (alarm,) = alarms
    assert 21 <= alarm.window <= 24
    assert 20 <= alarm.since <= 22
    assert alarm.after - alarm.before == pytest.approx(0.2, abs=0.08)
    learning = [reading.window for reading in readings if reading.learning]
    assert learning == [*range(1, 11), *range(alarm.window + 1, alarm.window + 11)]


def test_windows_of_the_baseline_do_not_choose_for_themselves(model):
    """New windows are not higher than those of the baseline, though those chose the regions."""
    higher = []
    for seed in range(12):
        rng = np.random.default_rng([3, seed])
        found = ChangeDetector(model, baseline=6)
        for _ in range(12):
            found.update(model.count(frame(rng, 300, 0.4)))
        ratios = np.array(found._ratios)
        higher.append(ratios[6:].mean() - ratios[:6].mean())
    assert abs(stats.ttest_1samp(higher, 0).statistic) < 3


@pytest.mark.parametrize(
    ("option", "value"), [("run_length", 1), ("run_length", np.nan), ("baseline", 4)]
)
def test_bad_settings(model, option, value):
    with pytest.raises(InputError):
        ChangeDetector(model, **{option: value})


def test_pat_can_watch_and_others_cannot():
    rng = np.random.default_rng(0)
    pat = PAT(random_state=0).fit(frame(rng, 100))
    found = ChangeDetector(pat, baseline=5)
    for i in range(12):
        last = found.update(pat.count(frame(rng, 300, 0.3 if i < 8 else 0.9)))
        if last.alarm:
            break
    assert last.alarm
    bbe = BBE(random_state=0).fit(frame(rng, 50))
    with pytest.raises(InputError, match="use RCQ, PAT or ODIn"):
        ChangeDetector(bbe)


# The process


def text_of(rows):
    return rows.round(4).to_csv(index=False)


def stream(seed, *parts):
    """CSV of parts that are pairs of a number of rows and a prevalence."""
    rng = np.random.default_rng(seed)
    return "".join(
        text_of(frame(rng, n, p)).split("\n", 1)[1] if i else text_of(frame(rng, n, p))
        for i, (n, p) in enumerate(parts)
    )


@pytest.fixture
def watch(file, monkeypatch, capsys):
    """Run the command in this process, with a text on standard input."""

    def run(*options, text):
        monkeypatch.setattr(sys, "argv", ["poscount", "watch", file, *options])
        given = io.BufferedReader(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
        with pytest.raises(SystemExit) as status:
            main()
        return status.value.code, *capsys.readouterr()

    return run


def test_a_line_at_once_and_an_alarm_command(file, tmp_path):
    """Each window is printed when its last row has come; the command gets the facts."""
    seen = tmp_path / "seen.txt"
    script = tmp_path / "alarm.py"
    script.write_text(
        "import os, sys\n"
        f"with open({str(seen)!r}, 'a') as file:\n"
        "    print(os.environ['POSCOUNT_ALARM_SINCE'], sys.argv[1:], file=file)\n"
        "    print(sys.stdin.read(), file=file)\n"
        "sys.exit(3)\n"
    )
    command = f"{sys.executable} {script} 'two words; $HOME'"
    options = ["-", "--rows", "200", "--baseline", "5", "--format", "json", "--on-alarm", command]
    process = subprocess.Popen(
        [*PYTHON, "watch", file, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = stream(0, (1600, 0.2), (1000, 0.8)).splitlines(keepends=True)
    process.stdin.writelines(lines[:201])
    process.stdin.flush()
    first = json.loads(process.stdout.readline())  # while the pipe is still open
    assert first["rows"] == "1-200"
    assert first["learning"]
    out, errors = process.communicate("".join(lines[201:]), timeout=60)
    windows = [json.loads(line) for line in out.splitlines()]
    (alarm,) = (each for each in windows if each["alarm"])
    assert process.returncode == 0
    assert 9 <= alarm["window"] <= 11
    assert "ended with status 3; the watch goes on" in errors
    facts, record = seen.read_text().splitlines()[:2]
    # No shell has seen the words.
    assert facts == f"{alarm['since']} ['two words; $HOME']"
    assert json.loads(record) == alarm
    assert windows[-1]["window"] == 13


def test_json_lines_and_periods(watch):
    rng = np.random.default_rng(0)
    rows = frame(rng, 700, 0.3).round(4)
    records = rows.to_dict("records")
    dated = [{**row, "at": f"2026-01-{1 + i // 100:02}"} for i, row in enumerate(records)]
    text = "".join(json.dumps(row) + "\n" for row in dated)
    status, out, _ = watch("--by", "day(at)", "--format", "csv", text=text)
    assert status == 0
    lines = out.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [f"2026-01-0{i}" for i in range(1, 8)]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,c,d\n1,2,3,4\n1,2,x,4\n", ["--rows", "1"], "standard input: column 'c', row 2: 'x'"),
        ("a,b,c,d\n1,2,3,4\n1,2,3\n", ["--rows", "1"], "line 3 has 3 cell(s)"),
        ("a,b,c\n1,2,3\n", ["--rows", "1"], "'d'"),
        ('{"a": 1, "b": 1, "c": 1, "d": 1}\nnonsense\n', ["--rows", "1"], "line 2 is not a JSON"),
        ("", ["--rows", "1"], "empty"),
        ("a,b,c,d\n", [], "give one of the two"),
        ("a,b,c,d\n", ["--rows", "0"], "0 rows is too small"),
        ("a,b,c,d\n", ["--rows", "5", "--by", "day(a)"], "give one of the two"),
        ("a,b,c,d\n", ["--by", "a"], "not a period of time"),
        ("a,b,c,d\n", ["--rows", "5", "--on-alarm", "'"], "cannot be split"),
        (
            "a,b,c,d,t\n1,2,3,4,2026-01-02\n1,2,3,4,2026-01-01\n",
            ["--by", "day(t)"],
            "earlier than the one before",
        ),
    ],
)
def test_mistakes_get_one_sentence(watch, text, options, message):
    status, _, errors = watch(*options, text=text)
    assert status == 2
    assert message in errors
    assert errors.count("\n") == 1


def test_a_command_that_does_not_exist(watch, monkeypatch):
    text = stream(1, (1000, 0.2), (600, 0.9))
    options = ["--rows", "200", "--baseline", "5", "--run-length", "50"]
    with open(os.devnull, "w") as other:
        # The command's own output goes where standard error goes, which must be a file.
        monkeypatch.setattr(change.sys.stderr, "fileno", other.fileno, raising=False)
        status, out, errors = watch(*options, "--on-alarm", "no-such-command", text=text)
    assert status == 0
    assert "could not be run: No such file or directory; the watch goes on" in errors
    assert "ALARM: changed since window 6" in out


def test_interrupts_and_closed_pipes_end_it_quietly(file):
    text = stream(2, (300, 0.3))
    process = subprocess.Popen(
        [*PYTHON, "watch", file, "--rows", "100"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whatever a shell starts in the background ignores it, and so do the tests' children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    process.stdin.write(text)
    process.stdin.flush()
    assert process.stdout.readline().startswith("window")
    assert process.stdout.readline().split()[:2] == ["1", "1-100"]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "poscount: stopped by SIGINT; no file is half-written.\n"

    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*PYTHON, "watch", file, "--rows", "10"],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    os.close(reading)
    _, errors = process.communicate(text, timeout=30)
    assert errors == ""
    assert process.returncode in (0, 1)
